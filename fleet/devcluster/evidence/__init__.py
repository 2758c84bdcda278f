"""What follows from a recording: who owned what and when, and the verdict that is told."""
