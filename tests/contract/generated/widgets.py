"""The custom resource of generated histories: defaults, limits, every kind of list, a free part and a status."""

from __future__ import annotations

from tests.contract.transcripts import Document

_CONDITION: Document = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {name: {"type": "string"} for name in ("type", "status", "reason")},
}
_PART: Document = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "size": {"type": "integer", "default": 1}},
}
_DEEP: Document = {
    "type": "object",
    "properties": {"on": {"type": "boolean", "default": False}, "level": {"type": "integer", "maximum": 2}},
}

WIDGET_SCHEMA: Document = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 3, "default": 2},
                "colour": {"type": "string", "enum": ["red", "green"]},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "parts": {
                    "type": "array",
                    "items": _PART,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
                "options": {"type": "object", "properties": {"deep": _DEEP}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "phase": {"type": "string"},
                "conditions": {
                    "type": "array",
                    "items": _CONDITION,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                },
            },
        },
    },
}
