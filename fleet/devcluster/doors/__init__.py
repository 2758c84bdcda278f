"""How requests come in: HTTP, or a call in the same process; and the control endpoint beside the API."""
