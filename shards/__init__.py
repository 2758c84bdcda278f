"""One shard and the machinery under it: what a controller author imports.

from shards import Context, Controller, Request, Result

Everything else lives in the modules. The names below are loaded on first use, so that a process that only needs the
vocabulary does not import the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shards.authoring.context import Context, Request
    from shards.authoring.controller import Controller, Result
    from shards.authoring.plain_context import PlainContext
    from shards.errors import NotReadyYet, TerminalError
    from shards.ownership.acts import Absent

__all__ = ["Absent", "Context", "Controller", "NotReadyYet", "PlainContext", "Request", "Result", "TerminalError"]

_HOMES = {
    "Absent": "shards.ownership.acts",
    "Context": "shards.authoring.context",
    "Controller": "shards.authoring.controller",
    "NotReadyYet": "shards.errors",
    "PlainContext": "shards.authoring.plain_context",
    "Request": "shards.authoring.context",
    "Result": "shards.authoring.controller",
    "TerminalError": "shards.errors",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
