"""What stands in the file of an experiment: read and checked before anything is started."""
