"""The `fieldPath` of a validation rule: where its failures are reported. Pure.

After apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (ValidFieldPath).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PATH_PART = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")


def field_place(path: str, schema: Mapping[str, Any]) -> str | None:
    """A rule's fieldPath as it is appended to a field; "" without one, None when it leads to no field."""
    place, here, end = "", schema, 0
    while end < len(path):
        found = _PATH_PART.match(path, end)
        if not found:
            return None
        name = found[1] or re.sub(r"\\(.)", r"\1", found[2] or "")
        extra = here.get("additionalProperties")
        if here.get("properties"):
            here, place = here["properties"].get(name), f"{place}.{name}"
        elif isinstance(extra, Mapping):
            here, place = extra, f"{place}[{name}]"
        else:
            return None
        if here is None:
            return None
        end = found.end()
    return place
