"""What a reconcile may see and write, for as long as its worker owns the shard: views, live reads, fenced writes."""
