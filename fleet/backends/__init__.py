"""Where records are kept: on an API server or in memory; and the watched views of them."""
