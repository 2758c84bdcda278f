"""What it is to remove a rule: the real code, patched in this process, for as long as a context lasts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

from chaos.simulation.plan import Depth


class Removal(NamedTuple):
    """name: as in docs/ownership-rules.md, where that page knows it. rule: of the design, or a decision.

    sentence: what is removed, as it should be. depths: at which it can be seen. expects: ids of the oracles and bounds
    that should find it; empty for what is redundant. covered: why nothing is found, or what covers it; "" where
    something is.
    """

    name: str
    rule: str
    sentence: str
    depths: tuple[Depth, ...]
    expects: tuple[str, ...]
    remove: Callable[[], AbstractContextManager[object]]
    covered: str = ""
