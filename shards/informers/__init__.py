"""Stores are kept equal to collections of the API server: one watch, or one for each namespace."""
