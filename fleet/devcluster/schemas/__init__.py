"""Schemas of custom resources: pruning, defaults, validation, and the rules on schemas themselves."""
