"""`fleet chaos`."""
