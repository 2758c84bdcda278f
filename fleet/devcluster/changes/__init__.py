"""Writes: create, update, patch, apply and delete, from a request to the commit. At most one commit each."""
