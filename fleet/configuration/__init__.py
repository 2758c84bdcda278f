"""The config file and the author's controllers that it names, read and checked."""
