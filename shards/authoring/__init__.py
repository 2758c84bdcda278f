"""What an author writes, and what a reconcile is given. Import these names from `shards`."""
