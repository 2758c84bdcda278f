"""Values as Go prints them with %v."""

from __future__ import annotations

from typing import Any

import msgspec


def go_text(value: Any) -> str:
    """Objects with sorted keys: map[a:1 b:[x y]]."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{go_text(value[name])}" for name in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_text, value)) + "]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
