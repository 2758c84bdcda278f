"""The invariants I1 to I27, one checker each; `registry` has them in order."""
