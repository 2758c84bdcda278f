"""What a pod runs: the composition root, the checks before its first fork, and what each child does."""
