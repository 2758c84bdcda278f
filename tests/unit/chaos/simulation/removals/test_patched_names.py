"""What removals patch is as they know it: a replacement that calls what it stands for wrongly breaks a history in some
way or other, which looks like a rule that is missed.

`patched_names.txt` says what each replacement was written for. Where a signature changes, look at the removals that
patch it (chaos/simulation/removals), and write the list anew: `REWRITE=1`.
"""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.simulation.removals import REMOVALS
from chaos.simulation.removals.removal import Removal, Unfit, owned

PATCHED = Path(__file__).parent / "patched_names.txt"


def patched() -> dict[str, str]:
    """By name: how it is called, or what sort of thing it is."""
    found = {}
    for removal in REMOVALS.values():
        for owner, name, _ in removal.swaps:
            each = getattr(owner, name, None)
            found[owned(owner, name)] = (
                str(inspect.signature(each)) if inspect.isroutine(each) else f" is a {type(each).__name__}"
            )
    return dict(sorted(found.items()))


def test_what_is_patched_is_called_as_its_removals_know_it() -> None:
    now = "".join(f"{name}{called}\n" for name, called in patched().items())
    if os.environ.get("REWRITE"):
        PATCHED.write_text(now, encoding="utf-8")
    assert now == PATCHED.read_text(encoding="utf-8"), "see the removals that patch what differs, then REWRITE=1"


@pytest.mark.parametrize("name", REMOVALS)
def test_a_replacement_can_be_called_as_what_it_stands_for(name: str) -> None:
    with REMOVALS[name].remove():
        pass


def removal_of(owner: object, replacement: Any) -> Removal:
    return Removal("gone", "R0", "A rule.", ("protocol",), ("I1",), ((owner, "rule", lambda original: replacement),))


@pytest.mark.parametrize(
    "replacement", [lambda record: True, lambda record, members: True, lambda record, members, *, other: True]
)
def test_one_that_cannot_says_so_before_any_history_is_played(replacement: Any) -> None:
    def rule(record: object, members: object, *, now: float = 0.0) -> bool:
        return False

    owner = SimpleNamespace(__name__="rules", rule=rule)
    with (
        pytest.raises(Unfit, match=r"the removal gone does not fit rules\.rule any more"),
        removal_of(owner, replacement).remove(),
    ):
        pass
    assert owner.rule is rule


def test_one_that_takes_whatever_comes_fits() -> None:
    owner = SimpleNamespace(__name__="rules", rule=lambda record, *, now: False)
    with removal_of(owner, lambda *args, **named: True).remove():
        assert owner.rule(1, now=2.0) is True
