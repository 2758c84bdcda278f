"""Paths that are no resources: groups, versions, OpenAPI, health, metrics."""
