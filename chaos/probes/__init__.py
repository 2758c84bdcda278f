"""What experiments can ask. The answers come from recordings and from objects, never from the fleet's own word."""
