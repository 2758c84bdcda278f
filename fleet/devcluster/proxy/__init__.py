"""A proxy on loopback that injects faults between clients and any API server, a real one among them."""
