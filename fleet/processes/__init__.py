"""A pod's processes: forked, reaped, started again and ended, and the files and memory in which they meet."""
