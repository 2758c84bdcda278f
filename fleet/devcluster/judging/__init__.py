"""The invariants I1 to I27, one checker each, and what carries the lines of journals to them."""
