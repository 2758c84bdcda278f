"""The commands of `fleet`: what each takes, in one file each. `fleet.cli` puts them together."""
