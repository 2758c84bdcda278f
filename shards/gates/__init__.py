"""What holds a key, or a whole shard, back until its view is fresh enough. Pure."""
