"""What it is to remove a rule: the real code, patched in this process, for as long as a context lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from chaos.simulation.plan import Depth

PROTOCOL: tuple[Depth, ...] = ("protocol",)

Swap = tuple[object, str, Callable[[Any], Any]]
"""Whose name it is, the name, and what makes the replacement of what it stands for."""


class Removal(NamedTuple):
    """name: as in docs/ownership-rules.md, where that page knows it. rule: of the design, or a decision.

    sentence: what is removed, as it should be. depths: at which it can be seen. expects: ids of the oracles and bounds
    that may find it first; empty for what is redundant. covered: why nothing is found; "" where something is.
    """

    name: str
    rule: str
    sentence: str
    depths: tuple[Depth, ...]
    expects: tuple[str, ...]
    remove: Callable[[], AbstractContextManager[object]]
    covered: str = ""


def swapping(*swaps: Swap) -> Callable[[], AbstractContextManager[object]]:
    """Names are replaced where they are used. A replacement may call what it stands for."""

    @contextmanager
    def swapped() -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name, make in swaps:
                only_of_instances = isinstance(owner, type) and not hasattr(owner, name)
                found = None if only_of_instances else getattr(owner, name)
                stack.enter_context(patch.object(owner, name, make(found), create=only_of_instances))
            yield

    return swapped


def always(answer: object) -> Callable[[Any], Any]:
    """Instead of a function: one that says this, whatever it is asked."""
    return lambda original: lambda *args, **kwargs: answer


def found_by(rule: str, name: str, sentence: str, expects: str, *swaps: Swap) -> Removal:
    """One that the protocol depth shows. expects: ids, with spaces between."""
    return Removal(name, rule, sentence, PROTOCOL, tuple(expects.split()), swapping(*swaps))


def redundant(rule: str, name: str, sentence: str, covered: str, *swaps: Swap) -> Removal:
    """One that nothing shows."""
    return Removal(name, rule, sentence, PROTOCOL, (), swapping(*swaps), covered)
