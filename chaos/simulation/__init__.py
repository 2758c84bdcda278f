"""Simulated fleets: one seed is one history, byte for byte. See docs/simulation.md."""
