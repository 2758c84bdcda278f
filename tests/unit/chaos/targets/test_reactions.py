from __future__ import annotations

import pytest

from chaos.targets.reactions import Reactions, percentile
from fleet.devcluster.recording.journal import Entry
from shards.journal import Note
from shards.objects import Resource

SITES = Resource.parse("chaos.shardfleet.dev/v1/sites")


def change(
    version: str,
    time: float,
    *,
    verb: str = "patch",
    agent: str = "kubectl",
    subresource: str = "",
    removed: bool = False,
) -> Entry:
    found = Entry(int(version), time, verb, str(SITES), uid="u", status=200, user_agent=agent)
    found.resource_version, found.subresource, found.removed = version, subresource, removed
    return found


def started(version: str, time: float) -> Note:
    return Note("started", time, "a-0", uid="u", views={str(SITES): version})


def ended(time: float, outcome: str = "success") -> Note:
    return Note("ended", time, "a-0", uid="u", outcome=outcome)


def test_a_change_is_answered_by_the_first_reconcile_whose_view_had_reached_it() -> None:
    reactions = Reactions(SITES)
    reactions.hear(change("5", 1.0))
    list(reactions.note(started("4", 1.5)))
    reactions.hear(change("6", 1.6))
    assert list(reactions.note(ended(2.0))) == []
    list(reactions.note(started("6", 2.5)))
    assert list(reactions.note(ended(3.0, "error"))) == []
    list(reactions.note(started("6", 4.0)))
    assert list(reactions.note(ended(5.0))) == [(1.0, 4.0), (1.6, pytest.approx(3.4))]
    list(reactions.note(started("6", 6.0)))
    assert list(reactions.note(ended(7.0))) == []


@pytest.mark.parametrize(
    "entry",
    [
        change("5", 1.0, agent="fleet/0 m=a-0"),
        change("5", 1.0, subresource="status"),
        change("5", 1.0, verb="get"),
        change("5", 1.0, verb="delete", removed=True),
    ],
    ids=["of the fleet", "of a status", "a read", "the end"],
)
def test_nobody_waits_for_what_is_no_change_by_people(entry: Entry) -> None:
    reactions = Reactions(SITES)
    reactions.hear(entry)
    list(reactions.note(started("9", 2.0)))
    assert list(reactions.note(ended(3.0))) == []


def test_of_a_hundred_values_the_99th_percentile_is_the_largest_but_one_or_the_largest() -> None:
    assert percentile((float(value) for value in range(100)), 0.99) == 99.0
    assert percentile([3.0], 0.99) == 3.0
    assert percentile([], 0.99) == 0.0
