"""What is explored: small worlds, each with the faults that one part of the protocol is there for.

`MAIN` is explored by every run of the tests, all of it. `LONG` has larger budgets, for `make test-long`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.model.code import Code
from tests.model.state import World


class Scenario(NamedTuple):
    """budget: faults that may happen. states: how many there are, part of the expectation. rest: of `World`."""

    budget: dict[str, int]
    states: int
    rest: dict[str, Any] = {}  # noqa: RUF012

    def world(self, without: frozenset[str] = frozenset()) -> World:
        """without: nothing: what moves is decided by the code itself."""
        world = World(self.budget, without=without, **self.rest)
        world.code = Code(world) if not without else None
        return world


_HANDOVER = {"standbys": True, "gates": True}
_SPLIT = {"split": True}

MAIN = {
    "moves to and fro": Scenario({"retarget": 3, "act": 2, "lost-answer": 1}, 27_780, _HANDOVER),
    "owners die in a move": Scenario({"retarget": 1, "crash": 2, "act": 1}, 41_999, _HANDOVER),
    "stalls and losses": Scenario({"retarget": 2, "crash": 1, "expire": 1, "vanish": 1}, 183_615),
    "three workers": Scenario({"retarget": 2, "vanish": 1, "act": 1}, 187_613, {**_HANDOVER, "names": (0, 1, 2)}),
    "answers lost": Scenario({"retarget": 1, "crash": 1, "lost-answer": 2}, 34_853),
    "two of one name": Scenario(
        {"retarget": 1, "expire": 1, "delete-member": 1}, 16_366, {"names": (0, 0, 1), "running": True}
    ),
    "two of a name that is new": Scenario(
        {"retarget": 1, "delete-member": 1}, 4_555, {"names": (0, 0, 1), "new": True}
    ),
    "leaving for good": Scenario({"retarget": 1, "leave": 2, "lost-answer": 1}, 2_069),
    "a shard Lease deleted": Scenario({"retarget": 1, "delete-shard": 2, "crash": 1}, 110_043),
    "a holder emptied": Scenario({"retarget": 1, "empty-shard": 1, "crash": 1}, 13_180),
    "a member Lease deleted": Scenario({"retarget": 1, "delete-member": 1, "crash": 1, "vanish": 1}, 54_134),
    "a member Lease deleted in a running fleet": Scenario(
        {"retarget": 2, "delete-member": 1, "crash": 1}, 13_249, {"running": True}
    ),
    "a member and a shard Lease deleted": Scenario({"retarget": 1, "delete-member": 1, "delete-shard": 1}, 17_382),
    "the map deleted": Scenario({"retarget": 1, "delete-map": 1, "elect": 1, "crash": 1}, 124_382),
    "the store restored": Scenario({"retarget": 2, "restore": 1}, 13_059),
    "useless members": Scenario({"retarget": 1, "stuck": 1, "blind": 1}, 2_702, {"standbys": True}),
    "useless members and a loss": Scenario({"stuck": 1, "blind": 1, "delete-shard": 1}, 41_834),
    "a standby that never is ready": Scenario({"retarget": 1, "cold": 1}, 180, {"standbys": True}),
    "a brown-out": Scenario({"brown-out": 1, "retarget": 1, "vanish": 1}, 5_232),
    "nobody in office": Scenario(
        {"crash": 2, "expire": 1, "lost-answer": 1}, 436, {"running": True, "governed": False}
    ),
    "two in office": Scenario({"elect": 1, "retarget": 1, "lost-answer": 1, "crash": 1}, 222_224, {"slow_maps": True}),
    "a reshard": Scenario({"reshard": 1, "crash": 1}, 54_376, _SPLIT),
    "a reshard and an election": Scenario(
        {"reshard": 1, "elect": 1}, 30_764, {**_SPLIT, "running": True, "slow_maps": True}
    ),
    "a reshard and a loss": Scenario({"reshard": 1, "delete-shard": 1}, 136_725, _SPLIT),
    "a reshard and one who leaves": Scenario({"reshard": 1, "leave": 1}, 18_847, _SPLIT),
    "a reshard and no map": Scenario({"reshard": 1, "delete-map": 1}, 44_610, _SPLIT),
    "there and back": Scenario({"reshard": 2}, 13_209, {**_SPLIT, "running": True, "collects": True}),
    "an edited config": Scenario({"config": 1, "elect": 1}, 48_592, {**_SPLIT, "running": True}),
}
LONG = {
    "three workers, one lost Lease": Scenario({"retarget": 1, "delete-shard": 1, "vanish": 1}, 0, {"names": (0, 1, 2)}),
    "three workers, more moves": Scenario({"retarget": 2, "vanish": 1, "act": 2}, 0, {**_HANDOVER, "names": (0, 1, 2)}),
    "two of one name that die": Scenario(
        {"retarget": 1, "expire": 1, "delete-member": 1, "crash": 1}, 0, {"names": (0, 0, 1)}
    ),
    "two of a name that is new, and a stall": Scenario(
        {"retarget": 2, "delete-member": 1, "expire": 1}, 0, {"names": (0, 0, 1), "new": True}
    ),
    "there and back, an election": Scenario(
        {"reshard": 2, "elect": 1}, 0, {**_SPLIT, "running": True, "collects": True}
    ),
    "useless members, a move and a loss": Scenario({"retarget": 1, "stuck": 1, "blind": 1, "delete-shard": 1}, 0),
    "a reshard, a death and a loss": Scenario({"reshard": 1, "crash": 1, "delete-shard": 1}, 0, _SPLIT),
    "three in office": Scenario({"elect": 2, "retarget": 1, "lost-answer": 1, "crash": 1}, 0, {"slow_maps": True}),
}
SCENARIOS = {**MAIN, **LONG}
