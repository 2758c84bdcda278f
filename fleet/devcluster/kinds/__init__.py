"""What a real server says of its built-in kinds, as data; and the rules that no answer tells."""
