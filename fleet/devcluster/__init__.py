"""An embedded Kubernetes API server: for `fleet dev`, tests, simulation and chaos (design 7)."""
