"""List and watch without I/O: what to ask for, in which order, and what the lines of an answer mean."""
