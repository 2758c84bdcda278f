"""Bodies of requests: from bytes to an object, and what the server says of those that are wrong."""
