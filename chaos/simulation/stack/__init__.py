"""The stack depth: real workers, agents, informers, gates and reconciles against the embedded API server."""
