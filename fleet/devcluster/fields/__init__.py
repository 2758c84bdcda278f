"""Who owns which field of an object, and what an apply makes of that (KEP-555, structured-merge-diff)."""
