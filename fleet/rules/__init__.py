"""What decides: each a function of state, event and time. Pure."""
