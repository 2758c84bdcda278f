"""The protocol depth: real workers and coordinators on a store in memory, with a modelled network and played shards."""
