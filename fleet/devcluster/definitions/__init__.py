"""CustomResourceDefinitions: their rules, their structural schemas, names and versions. Pure."""
