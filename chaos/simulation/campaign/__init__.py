"""Many histories: which seeds, over several processes, and what they came to."""
