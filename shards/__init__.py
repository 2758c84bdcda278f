"""One shard and the machinery under it: what a controller author imports.

from shards import Context, Controller, Request, Result
"""
