"""Keys into reconciles: the engine of one controller in one shard, and one run of the author's function."""
