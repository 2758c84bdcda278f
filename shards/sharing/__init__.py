"""What the shards of a worker share: one stream for all of them, and each one's part of it."""
