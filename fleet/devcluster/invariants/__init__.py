"""What all checkers stand on: acts and records as they are heard, bounds, signs of life, what faults excuse."""
