"""Small worlds of the gates: each with the faults that one of them is there for.

`MAIN` is explored by every run of the tests; `LONG` has larger budgets, for `make test-long`. states: how many there
are, part of the expectation; 0: not said.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.model.gates.world import World


class Scenario(NamedTuple):
    """budget: see `world.BUDGETS`. rest: of `World`."""

    budget: dict[str, int]
    states: int
    rest: dict[str, Any] = {}  # noqa: RUF012

    def world(self) -> World:
        return World(self.budget, **self.rest)


_SEEDED = {"seeded": True}

MAIN = {
    "own writes": Scenario({"write": 3, "foreign": 1, "lost": 1}, 20_137),
    "late landing": Scenario({"write": 3, "lost": 3}, 5_494),
    "deleted and created again": Scenario({"write": 2, "delete": 1, "foreign": 1, "lost": 1}, 30_879),
    "a handover": Scenario({"write": 2, "release": 2, "lost": 1}, 5_908),
    "a handover after a deletion": Scenario({"write": 1, "delete": 1, "release": 2, "lost": 1}, 14_015, _SEEDED),
    "a refusal after a deletion": Scenario({"write": 1, "delete": 1, "foreign": 1, "release": 1}, 14_630, _SEEDED),
    "an owner dies": Scenario({"write": 2, "crash": 1, "release": 1, "lost": 1}, 16_232),
    "events are lost": Scenario({"write": 3, "drop": 2}, 852),
    "events and answers are lost": Scenario({"write": 2, "delete": 1, "drop": 1, "lost": 1}, 6_153, {"fresh": False}),
    "a watch is cut": Scenario({"write": 1, "delete": 1, "relist": 2, "foreign": 1, "lost": 1}, 36_830),
    "more writes than are remembered": Scenario(
        {"write": 3, "delete": 1, "release": 1, "lost": 1}, 48_549, {"most": 0}
    ),
    "deleted, and it lingers": Scenario({"write": 1, "delete": 1, "drop": 1}, 18_835, {**_SEEDED, "lingers": True}),
}
LONG = {
    "everything once": Scenario(
        {"write": 2, "delete": 1, "foreign": 1, "lost": 1, "release": 1, "crash": 1, "relist": 1}, 0
    ),
    "to and fro": Scenario({"write": 3, "delete": 1, "release": 3, "lost": 2}, 0),
    "owners die": Scenario({"write": 3, "crash": 2, "release": 2, "lost": 1}, 0),
}
SCENARIOS = {**MAIN, **LONG}
