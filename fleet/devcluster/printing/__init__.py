"""What a client sees of an object besides the object: tables and partial metadata, by its Accept header."""
