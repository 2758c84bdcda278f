"""The oracles of simulated fleets: what must never happen, asked at every step. See docs/simulation.md."""
