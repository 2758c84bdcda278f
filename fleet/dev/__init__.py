"""`fleet dev`: a whole fleet on this machine, on the embedded API server, with demo objects and scheduled kills.

Nothing in the other parts of the fleet knows about it.
"""
