"""How a pod's processes are asked how they are, and what they measure."""
