"""What `fleet status` shows, from the records to a table."""
