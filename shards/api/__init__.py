"""What is asked of an API server, whoever carries it: the protocol, who asks, and what is counted."""
