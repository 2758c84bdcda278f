"""How often a worker asks its ranges what to do."""

from __future__ import annotations

from typing import Any

import pytest

from fleet.rules import handover
from fleet.rules.handover import Action, LocalShard, Seen
from fleet.workers import range_runner
from fleet.workers.inquiry import Inquiry
from fleet.workers.worker import REST_SECONDS, TICK_SECONDS
from tests.unit.fleet.ownership import Fleet, now, running

pytestmark = pytest.mark.looptime(noop_cycles=0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, LocalShard]]:
    """Every question about a range, by the member that asks."""
    questions: list[tuple[str, LocalShard]] = []

    def decide(local: LocalShard, seen: Seen) -> Action | None:
        questions.append((seen.me.member if seen.me is not None else "", local))
        return handover.decide(local, seen)

    monkeypatch.setattr(range_runner, "decide", decide)
    return questions


async def test_a_worker_asks_nothing_while_nothing_happens(asked: list[tuple[str, LocalShard]]) -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        await fleet.pass_seconds(2)
        asked.clear()
        await fleet.pass_seconds(20)
        assert asked == []


async def test_it_asks_about_its_own_ranges_when_another_one_changes(asked: list[tuple[str, LocalShard]]) -> None:
    async with running(Fleet(ranges=4), "a", "b") as fleet:
        await fleet.pass_seconds(2)
        asked.clear()
        theirs = fleet.holds("b")
        fleet.delete_shard(theirs[0])
        await fleet.pass_seconds(0.01)
        mine = {local.range for name, local in asked if name == "a"}
        assert mine == set(fleet.holds("a"))


async def test_what_has_to_wait_for_its_time_is_asked_again_at_every_tick(asked: list[tuple[str, LocalShard]]) -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        await fleet.pass_seconds(2)
        fleet.behaviour("a").opening_error = ValueError("no")
        fleet.delete_shard(fleet.layout[0])
        await fleet.until(lambda: any(each.waits for each in fleet.workers["a"].runners.values()), 40, "it waits")
        asked.clear()
        await fleet.pass_seconds(TICK_SECONDS)
        assert {local.range for _, local in asked} >= {fleet.layout[0]}
        fleet.behaviour("a").opening_error = None
        await fleet.all_open(60)


async def test_the_end_of_a_membership_is_noticed_without_any_change(asked: list[tuple[str, LocalShard]]) -> None:
    async with running(Fleet(ranges=2), "a") as fleet:
        fleet.faults("a").unavailable = True
        fleet.faults("a").held = True
        began = await fleet.until(lambda: not fleet.acting(), 20, "nothing acts any more")
        assert began <= fleet.lease_seconds


async def test_a_worker_at_rest_looks_once_a_second_and_notices_at_once_that_its_view_has_died(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[float] = []
    ask = Inquiry.ask

    def asked(inquiry: Inquiry, *args: Any, **more: Any) -> bool:
        looks.append(now())
        return ask(inquiry, *args, **more)

    monkeypatch.setattr(Inquiry, "ask", asked)
    async with running(Fleet(ranges=2), "a") as fleet:
        await fleet.pass_seconds(3)
        looks.clear()
        await fleet.pass_seconds(20)
        assert len(looks) == pytest.approx(20 / REST_SECONDS, abs=3)
        views = fleet.workers["a"].view
        await views.close()
        looks.clear()
        await fleet.pass_seconds(0.01)
        assert looks
