"""The columns of the built-in kinds' tables, as the real server declares them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec

Column = dict[str, Any]
"""A TableColumnDefinition: name, type, format, description, priority."""


class _Document(msgspec.Struct):
    """descriptions: each text once. columns: by group version and plural; (name, type, format, text, priority)."""

    descriptions: list[str]
    columns: dict[str, list[tuple[str, str, str, int, int]]]


@lru_cache(maxsize=1)
def declared_columns() -> Mapping[str, list[Column]]:
    """By "v1/pods" or "apps/v1/deployments"."""
    raw = files(__package__).joinpath("columns.json").read_bytes()
    document = msgspec.json.decode(raw, type=_Document)
    return {
        key: [
            column(name, kind, style, document.descriptions[text], priority)
            for name, kind, style, text, priority in row
        ]
        for key, row in document.columns.items()
    }


def column(name: str, kind: str, style: str, description: str, priority: int) -> Column:
    return {"name": name, "type": kind, "format": style, "description": description, "priority": priority}


def name_column() -> Column:
    """The first column of nearly every table."""
    return declared_columns()["v1/configmaps"][0]


def age_description() -> str:
    """What creationTimestamp means."""
    return str(declared_columns()["v1/configmaps"][2]["description"])


def columns_of(key: str) -> list[Column]:
    """Of a kind that has no table of its own: name and age."""
    return declared_columns().get(key) or [name_column(), column("Age", "string", "", age_description(), 0)]
