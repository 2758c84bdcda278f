"""Which filter of the API server each view may stand on: what is proven of it, by what, and what is asked when."""
