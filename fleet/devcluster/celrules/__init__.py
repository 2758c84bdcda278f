"""Validation rules of custom resources (`x-kubernetes-validations`), written in the Common Expression Language."""
