"""The feature gates of one worker follow what its config says."""

from __future__ import annotations

from shards.features import Canary, Feature, Rollout
from shards.keyrange import WHOLE
from shards.worker_gates import WorkerGates


class Clock:
    now = 5.0

    def __call__(self) -> float:
        return self.now


OFF = Rollout(frozenset())


def test_a_change_counts_at_once_and_is_told_once() -> None:
    clock = Clock()
    gates = WorkerGates(Rollout(), {}, clock)
    told: list[bool] = []
    end = gates.tell(lambda: told.append(gates.version_gate("a", WHOLE)))
    assert (gates.version_gate("a", WHOLE), gates.since) == (True, 5.0)
    clock.now = 9.0
    gates.change(OFF)
    gates.change(OFF)
    assert (told, gates.since) == ([False], 9.0)
    end()
    end()
    gates.change(Rollout())
    assert told == [False]


def test_it_answers_for_the_member_that_it_is_of() -> None:
    canary = Rollout(canary=Canary(frozenset({Feature.VERSION_GATE}), member_labels={"track": "canary"}))
    inside = WorkerGates(canary, {"track": "canary"}, Clock())
    outside = WorkerGates(canary, {"track": "stable"}, Clock())
    assert inside.on("a", WHOLE) == (Feature.VERSION_GATE, Feature.SERVER_SIDE_SHARDING, Feature.SLOT_LABELS)
    assert outside.on("a", WHOLE) == (Feature.SERVER_SIDE_SHARDING, Feature.SLOT_LABELS)
    assert inside.has_for_all(Feature.SERVER_SIDE_SHARDING, ["a", "b"], WHOLE)
    assert not outside.version_gate("a", WHOLE)
