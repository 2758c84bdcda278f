"""The coordination protocol, and its records as objects of an API server."""
