"""Which key runs next and in which slot, which keys keep failing, and which wait for long."""
