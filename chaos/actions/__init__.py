"""What experiments can do, by what they do it to."""
