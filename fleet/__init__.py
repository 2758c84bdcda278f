"""Who runs which shard: coordination, processes and the command line."""

__version__ = "0.1.0"
