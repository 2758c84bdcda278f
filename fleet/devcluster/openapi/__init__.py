"""OpenAPI documents of what is served, without prose: for explain, apply, validation and generators."""
