"""One shard and the machinery under it: what a controller author imports.

from shards import Context, Controller, Request, Result

Everything else lives in the modules. The names below are loaded on first use, so that a process that only needs the
vocabulary does not import the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shards.context import Context, Request
    from shards.controller import Controller, Result
    from shards.errors import NotReadyYet, TerminalError
    from shards.plain_context import PlainContext

__all__ = ["Context", "Controller", "NotReadyYet", "PlainContext", "Request", "Result", "TerminalError"]

_HOMES = {
    "Context": "shards.context",
    "Controller": "shards.controller",
    "NotReadyYet": "shards.errors",
    "PlainContext": "shards.plain_context",
    "Request": "shards.context",
    "Result": "shards.controller",
    "TerminalError": "shards.errors",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
