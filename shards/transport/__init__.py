"""The API server over HTTP: where it is, who we are, and the connections to it."""
