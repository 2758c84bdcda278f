"""Scripted histories: what a client does, in order. Every server must answer each of them in the same way.

A module of this package that names a tuple `HISTORIES` adds to the index; nothing else is to be edited.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable

from tests.contract.transcripts import Stage

History = Callable[[Stage], Awaitable[None]]


def every_history() -> tuple[History, ...]:
    """Those of all modules, module by module in the order of their names."""
    found: list[History] = []
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda each: each.name):
        found += getattr(importlib.import_module(f"{__name__}.{module.name}"), "HISTORIES", ())
    return tuple(found)
