"""Chaos experiments: faults on purpose, judged from a recording."""
