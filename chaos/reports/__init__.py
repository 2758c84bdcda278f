"""What became of an experiment, for people: one page, or a text for a pull request."""
