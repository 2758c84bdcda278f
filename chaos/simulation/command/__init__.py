"""The command `fleet sim`: what it takes, shows and exits with."""
