"""What it is to remove a rule: the real code, patched in this process, for as long as a context lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from inspect import isroutine, signature
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
    swaps: what is patched.
    """

    name: str
    rule: str
    sentence: str
    depths: tuple[Depth, ...]
    expects: tuple[str, ...]
    swaps: tuple[Swap, ...]
    covered: str = ""

    @property
    def depth(self) -> Depth:
        """The first at which it can be seen: where it is searched for."""
        return self.depths[0]

    @contextmanager
    def remove(self) -> Iterator[None]:
        """Names are replaced where they are used. A replacement may call what it stands for. Raises Unfit."""
        with ExitStack() as stack:
            for owner, name, make in self.swaps:
                only_of_instances = isinstance(owner, type) and not hasattr(owner, name)
                found = None if only_of_instances else getattr(owner, name)
                made = make(found)
                if (why := unlike(found, made)) is not None:
                    raise Unfit(f"the removal {self.name} does not fit {owned(owner, name)} any more: {why}")
                stack.enter_context(patch.object(owner, name, made, create=only_of_instances))
            yield


class Unfit(TypeError):
    """A replacement cannot be called as what it stands for: a history would fail of that, not of the rule."""


def owned(owner: object, name: str) -> str:
    """How a patched name is told of: `fleet.rules.agenda.floors`."""
    where = f"{owner.__module__}.{owner.__qualname__}" if isinstance(owner, type) else getattr(owner, "__name__", "?")
    return f"{where}.{name}"


def unlike(found: object, made: object) -> str | None:
    """Why a call of what is there could not be one of its replacement; None when it could, or for no routine."""
    if not (isroutine(found) and callable(made)):
        return None
    parameters = signature(found).parameters.values()
    positional = [None for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    named = {each.name: None for each in parameters if each.kind is each.KEYWORD_ONLY}
    try:
        signature(made).bind(*positional, **named)
    except TypeError as error:
        return f"{error} of {signature(found)}"
    return None


def always(answer: object) -> Callable[[Any], Any]:
    """Instead of a function: one that says this, whatever it is asked."""
    return lambda original: lambda *args, **kwargs: answer


def found_by(rule: str, name: str, sentence: str, expects: str, *swaps: Swap) -> Removal:
    """One that the protocol depth shows. expects: ids, with spaces between."""
    return Removal(name, rule, sentence, PROTOCOL, tuple(expects.split()), swaps)


def redundant(rule: str, name: str, sentence: str, covered: str, *swaps: Swap) -> Removal:
    """One that nothing shows."""
    return Removal(name, rule, sentence, PROTOCOL, (), swaps, covered)
