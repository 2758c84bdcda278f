"""How much may be asked at once: of the API server, of live reads, of the event loop."""
