"""What users need to test their own controllers: an embedded API server, fixtures, virtual time.

The one place of `shards` that knows `fleet.devcluster`: nothing else of `shards` or `fleet` may import it.
"""
