"""Built-in resources with two versions on one store: what a stored object looks like in the other one."""
