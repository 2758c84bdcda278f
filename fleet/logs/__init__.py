"""Lines that a pod writes: the logs of all its processes through one, and files of whole lines."""
