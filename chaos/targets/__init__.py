"""What is experimented on: a fleet, the server that it talks to, and the evidence of what both did."""
