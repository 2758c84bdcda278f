"""What a runner does while its actions take time, fail, or are interrupted at every point."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace

import pytest

from fleet.backends.local_store import Faults, LocalStore
from fleet.health.range_steps import Cause, RangeStep, Step
from fleet.processes.exitcodes import EX_DEADLINE
from fleet.records.record import Holder, ShardMap, ShardRecord, ShardStatus, Standby
from fleet.rules.handover import Phase, Seen
from fleet.workers.range_runner import CLOSE_SECONDS, RangeRunner
from fleet.workers.runner_context import RunnerContext
from shards.errors import NotOwner
from shards.gates.watermark import Watermark
from shards.keyrange import WHOLE, KeyRange
from tests.unit.fleet.ownership import Behaviour, FakeShard, Wire, now
from tests.unit.fleet.records.records import shard, shard_map

pytestmark = pytest.mark.looptime(noop_cycles=0)

ME, OTHER = Holder("me", 5), Holder("other", 9)


@dataclass
class Bench:
    """One runner for the whole key space, which is evaluated whenever it wakes its worker and every 20 ms."""

    target: str = "me"
    me: Holder | None = ME
    leaving: bool = False
    lost: dict[KeyRange, int] = field(default_factory=dict)
    store: LocalStore = field(default_factory=LocalStore)
    behaviour: Behaviour = field(default_factory=Behaviour)
    shards: list[FakeShard] = field(default_factory=list)
    deaths: list[int] = field(default_factory=list)
    steps: list[RangeStep] = field(default_factory=list)
    until: float = float("inf")
    paused: bool = False

    def __post_init__(self) -> None:
        self.wire = Wire(self.store, Faults())
        self.others = Wire(self.store, Faults())
        self.view = self.wire.watch(members=False)
        self.evaluating: asyncio.Task[None] | None = None
        self.woken = asyncio.Event()
        self.runner = RangeRunner(
            WHOLE,
            RunnerContext(
                member="me",
                coordination=self.wire,
                make_shard=self.make_shard,
                deadline=lambda epoch: self.until if self.me is not None and self.me.epoch == epoch else float("-inf"),
                drain_seconds=1.0,
                stop_seconds=0.5,
                clock=now,
                rng=random.Random(1),
                die=self.deaths.append,
                die_in_order=self.die_in_order,
                wake=self.woken.set,
                tell=self.steps.append,
            ),
        )

    async def die_in_order(self, code: int) -> None:
        self.deaths.append(code)

    def make_shard(self, each: KeyRange) -> FakeShard:
        self.shards.append(FakeShard(each, self.behaviour))
        return self.shards[-1]

    @property
    def map(self) -> ShardMap:
        return shard_map("web", boundaries=(0,), targets=(self.target,), lost=self.lost)

    async def evaluate(self) -> None:
        while True:
            if not self.paused:
                self.runner.evaluate(Seen(self.me, self.map, self.view.shards.get(WHOLE), self.leaving))
            try:
                async with asyncio.timeout(0.02):
                    await self.woken.wait()
            except TimeoutError:
                pass
            self.woken.clear()

    def stop_evaluating(self) -> None:
        if self.evaluating is not None:
            self.evaluating.cancel()

    async def close(self) -> None:
        self.stop_evaluating()
        self.runner.drop("the test is over")
        await self.runner.settled()
        await self.view.close()

    async def put(self, **changes: object) -> ShardRecord:
        """Somebody else writes the record, which is free without a holder. The first one begins the evaluations."""
        if self.evaluating is None:
            self.evaluating = asyncio.create_task(self.evaluate())
        found = await self.others.read_shard(WHOLE)
        base = found or shard(WHOLE, holder=None, holder_text="", released=5)
        return await self.others.write_shard(
            replace(base, **changes),  # type: ignore[arg-type]  # any field may change
            found.version if found else "",
        )

    async def record(self) -> ShardRecord:
        found = await self.others.read_shard(WHOLE)
        assert found is not None
        return found

    @property
    def phase(self) -> Phase:
        return self.runner.local.phase

    @property
    def acting(self) -> bool:
        return self.runner.tenure is not None and self.runner.tenure.valid(now())

    async def owned(self) -> FakeShard:
        await self.put()
        await asyncio.sleep(0.2)
        assert self.shards[-1].open
        return self.shards[-1]


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.close()


# -- the ordinary way -----------------------------------------------------------------------------------------------


async def test_a_free_range_is_claimed_and_opened_without_a_watermark(bench: Bench) -> None:
    opened = await bench.owned()
    record = await bench.record()
    assert (record.holder, record.epoch) == (ME, 6)
    assert bench.acting
    assert (opened.watermark, opened.previous_epoch) == (None, 5)
    assert bench.runner.load() is not None


async def test_a_watermark_is_used_after_a_release_and_not_after_a_takeover(bench: Bench) -> None:
    await bench.put(watermark=Watermark(5))
    await asyncio.sleep(0.2)
    assert bench.shards[-1].watermark == Watermark(5)
    bench.runner.drop("for the test")
    await bench.put(holder=Holder("me", 4), watermark=Watermark(5))
    await asyncio.sleep(0.5)
    assert bench.shards[-1].open
    assert bench.shards[-1].watermark is None


async def test_a_standby_is_announced_when_it_is_synced_and_becomes_the_owner(bench: Bench) -> None:
    bench.behaviour.prewarm_seconds = 1.0
    await bench.put(holder=OTHER)
    await asyncio.sleep(0.9)
    assert bench.phase is Phase.STANDBY
    assert (await bench.record()).standby is None
    await asyncio.sleep(0.3)
    assert (await bench.record()).standby == Standby(ME, 5)
    version = (await bench.record()).version
    await asyncio.sleep(5)
    assert (await bench.record()).version == version, "one write is enough"
    await bench.put(holder=None, released=5, watermark=Watermark(5))
    await asyncio.sleep(0.2)
    assert len(bench.shards) == 1
    assert bench.shards[0].calls == ["prewarm", "activate"]
    assert (await bench.record()).standby is None


async def test_a_standby_that_another_one_overwrote_is_announced_again(bench: Bench) -> None:
    await bench.put(holder=OTHER)
    await asyncio.sleep(0.2)
    await bench.put(standby=Standby(Holder("third", 1), 5))
    await asyncio.sleep(0.5)
    assert (await bench.record()).standby == Standby(ME, 5)


async def test_a_range_is_drained_before_it_is_released_with_its_watermark(bench: Bench) -> None:
    opened = await bench.owned()
    bench.behaviour.drain_seconds = 0.8
    bench.target = "other"
    await bench.put(standby=Standby(OTHER, 6))
    await asyncio.sleep(0.5)
    assert opened.calls[-1] == "drain"
    assert (await bench.record()).holder == ME
    await asyncio.sleep(0.5)
    record = await bench.record()
    assert (record.holder, record.released, record.watermark) == (None, 6, Watermark(6))
    assert not bench.acting
    assert bench.phase is Phase.IDLE
    assert opened.calls == ["activate", "drain", "stop"]


async def test_a_shard_whose_gate_never_opened_leaves_no_watermark(bench: Bench) -> None:
    bench.behaviour.activate_seconds = 100.0
    await bench.put()
    await asyncio.sleep(0.2)
    bench.target = "other"
    await bench.put(standby=Standby(OTHER, 6))
    await asyncio.sleep(0.3)
    record = await bench.record()
    assert (record.holder, record.released, record.watermark) == (None, 6, None)


# -- what is called off ---------------------------------------------------------------------------------------------


def named(bench: Bench) -> list[Step]:
    return [each.step for each in bench.steps]


async def test_a_standby_that_is_called_off_while_it_opens_is_closed(bench: Bench) -> None:
    bench.behaviour.prewarm_seconds = 1.0
    await bench.put(holder=OTHER)
    await asyncio.sleep(0.5)
    bench.target = "other"
    await asyncio.sleep(2.0)
    assert bench.phase is Phase.IDLE
    assert bench.shards[0].calls == ["prewarm", "stop"]
    assert (await bench.record()).standby is None
    assert named(bench) == [Step.STANDBY_OPENED, Step.STANDBY_CLOSED]


async def test_a_standby_that_is_called_off_takes_its_announcement_back_before_it_closes(bench: Bench) -> None:
    await bench.put(holder=OTHER)
    await asyncio.sleep(0.2)
    assert (await bench.record()).standby == Standby(ME, 5)
    bench.target = "other"
    await asyncio.sleep(0.5)
    assert (await bench.record()).standby is None, "the owner would drain for nobody, should the target change again"
    assert named(bench)[2:] == [Step.ANNOUNCED, Step.WITHDRAWN, Step.STANDBY_CLOSED]
    bench.target = "me"
    await asyncio.sleep(0.5)
    assert (await bench.record()).standby == Standby(ME, 5)


async def test_the_announcement_of_an_earlier_process_is_withdrawn_until_there_is_a_standby_again(
    bench: Bench,
) -> None:
    bench.behaviour.prewarm_seconds = 1.0
    await bench.put(holder=OTHER, standby=Standby(Holder("me", 4), 5))
    await asyncio.sleep(0.5)
    assert (await bench.record()).standby is None
    await asyncio.sleep(1.0)
    assert (await bench.record()).standby == Standby(ME, 5)


@pytest.mark.parametrize("after_seconds", [0.1, 0.5, 0.95])
async def test_a_range_that_is_called_back_while_it_drains_is_released_and_claimed_again(
    bench: Bench, after_seconds: float
) -> None:
    await bench.owned()
    bench.behaviour.drain_seconds = 0.9
    bench.target = "other"
    await bench.put(standby=Standby(OTHER, 6))
    await asyncio.sleep(after_seconds)
    bench.target = "me"
    await asyncio.sleep(1.5)
    record = await bench.record()
    assert (record.holder, record.epoch) == (ME, 7), "never on with the drained one: a new claim, a new epoch"
    assert bench.acting
    assert bench.steps[-1].cause is Cause.BACK


# -- what is told ---------------------------------------------------------------------------------------------------


async def test_every_step_is_told_with_the_time_that_it_took(bench: Bench) -> None:
    bench.behaviour.prewarm_seconds = 1.0
    await bench.put(holder=OTHER, last_holder=OTHER)
    await asyncio.sleep(1.2)
    bench.behaviour.activate_seconds = 0.3
    await bench.put(holder=None, released=5, watermark=Watermark(5), unowned_seconds=0.25)
    await asyncio.sleep(1.0)
    bench.behaviour.drain_seconds = 0.5
    bench.target = "other"
    await bench.put(standby=Standby(OTHER, 6))
    await asyncio.sleep(1.0)
    told = [(each.step, each.epoch, each.peer, each.cause, round(each.seconds, 1)) for each in bench.steps]
    assert told == [
        (Step.STANDBY_OPENED, 0, "other", None, 0.0),
        (Step.STANDBY_SYNCED, 0, "other", None, 1.0),
        (Step.ANNOUNCED, 5, "other", None, 0.0),
        (Step.CLAIMED, 6, "other", Cause.HANDOVER, 0.0),
        (Step.OPEN, 6, "", Cause.HANDOVER, 0.3),
        (Step.DRAINING, 6, "other", None, 0.0),
        (Step.DRAINED, 6, "other", None, 0.5),
        (Step.RELEASED, 6, "other", None, 0.5),
    ]
    assert all(each.member == "me" and each.range == WHOLE for each in bench.steps)
    assert bench.steps[3].watermark
    assert bench.steps[4].unowned_seconds == pytest.approx(0.55, abs=0.05)
    assert (await bench.record()).unowned_seconds == pytest.approx(0.5, abs=0.05)


async def test_a_takeover_is_told_by_its_kind_and_without_an_unowned_time(bench: Bench) -> None:
    await bench.put(holder=Holder("me", 4), unowned_seconds=0.25)
    await asyncio.sleep(0.2)
    assert [(each.step, each.cause) for each in bench.steps] == [
        (Step.CLAIMED, Cause.RESTART),
        (Step.OPEN, Cause.RESTART),
    ]
    assert bench.steps[-1].unowned_seconds is None
    bench.runner.drop("for the test")
    assert (bench.steps[-1].step, bench.steps[-1].epoch, bench.steps[-1].why) == (Step.DROPPED, 6, "for the test")


# -- lost answers ---------------------------------------------------------------------------------------------------


async def test_a_claim_whose_answer_was_lost_is_claimed_again(bench: Bench) -> None:
    bench.wire.faults.lost_answers = 1
    await bench.put()
    await asyncio.sleep(0.05)
    assert (await bench.record()).holder == ME
    assert not bench.acting
    await asyncio.sleep(1.0)
    assert bench.acting
    assert (await bench.record()).epoch == 7


async def test_a_claim_whose_answer_was_lost_for_a_range_that_has_moved_on_is_given_back(bench: Bench) -> None:
    bench.wire.faults.lost_answers = 1
    await bench.put()
    await asyncio.sleep(0.05)
    bench.target = "other"
    await asyncio.sleep(1.0)
    record = await bench.record()
    assert (record.holder, record.released, record.watermark) == (None, 6, None)
    assert bench.shards == []


async def test_a_release_whose_answer_was_lost_ends_in_the_same_state(bench: Bench) -> None:
    opened = await bench.owned()
    bench.target = "other"
    bench.wire.faults.lost_answers = 1
    await bench.put(standby=Standby(OTHER, 6))
    await asyncio.sleep(1.0)
    assert (await bench.record()).holder is None
    assert bench.phase is Phase.IDLE
    assert opened.calls[-1] == "stop"


async def test_a_drained_range_is_not_reported_while_its_release_is_on_the_wire(bench: Bench) -> None:
    await bench.owned()
    assert bench.runner.load() is not None
    bench.target = "other"
    bench.wire.latency = lambda: 1.0
    await bench.put(standby=Standby(OTHER, 6))
    await asyncio.sleep(1.5)
    assert bench.phase is Phase.DRAINED
    assert bench.runner.holding
    assert bench.runner.load() is None, "or the lookout would see two owners once the next one has claimed it"


async def test_a_range_counts_as_held_while_its_claim_is_on_the_wire(bench: Bench) -> None:
    bench.wire.latency = lambda: 1.0
    await bench.put()
    await asyncio.sleep(0.5)
    assert bench.phase is Phase.IDLE
    assert bench.runner.holding, "or a map that marks it lost would seem to be followed"
    await asyncio.sleep(2.0)
    assert bench.runner.holding


# -- dropping -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "harm",
    [
        lambda record: replace(record, holder=OTHER),
        lambda record: replace(record, epoch=record.epoch + 1),
        lambda record: replace(record, status=ShardStatus.RETIRED),
        None,
    ],
    ids=["another holder", "another epoch", "retired", "deleted"],
)
async def test_a_range_whose_record_is_not_its_own_any_more_stops_at_once(
    bench: Bench, harm: Callable[[ShardRecord], ShardRecord] | None
) -> None:
    opened = await bench.owned()
    record = await bench.record()
    bench.target = "other"
    if harm is None:
        await bench.others.delete_shard(record)
    else:
        await bench.others.write_shard(harm(record), record.version)
    await asyncio.sleep(0.06)
    assert not bench.acting
    assert opened.calls[-1] == "stop"
    await asyncio.sleep(0.5)
    assert bench.phase is Phase.IDLE


@pytest.mark.parametrize("after_seconds", [0.0, 0.1, 0.25, 0.35])
async def test_a_claim_that_is_interrupted_at_any_point_leaves_nobody_acting(
    bench: Bench, after_seconds: float
) -> None:
    bench.wire.latency = lambda: 0.15
    bench.paused = True
    await bench.put()
    bench.paused = False
    bench.woken.set()
    await asyncio.sleep(after_seconds)
    bench.paused = True
    bench.me = None
    bench.runner.drop("the membership is over")
    await bench.runner.settled()
    assert bench.phase is Phase.IDLE
    assert not bench.runner.holding
    bench.me = Holder("me", 6)
    await asyncio.sleep(1.0)
    assert not bench.acting, "a later incarnation gives it no time"
    assert not any(each.open for each in bench.shards)
    bench.paused = False
    await asyncio.sleep(1.0)
    assert bench.acting
    assert (await bench.record()).holder == bench.me


async def test_a_claim_that_was_answered_under_a_lost_membership_gives_no_right_to_act(bench: Bench) -> None:
    bench.wire.latency = lambda: 0.2
    await bench.put()
    await asyncio.sleep(0.3)
    bench.paused = True
    bench.me = Holder("me", 6)
    await asyncio.sleep(0.5)
    assert bench.phase is Phase.OWNED
    assert not bench.acting


@pytest.mark.parametrize("after_seconds", [0.01, 0.5, 1.0, 1.3])
async def test_a_drain_and_a_release_that_are_interrupted_end_idle(bench: Bench, after_seconds: float) -> None:
    await bench.owned()
    bench.behaviour.drain_seconds = 0.9
    bench.wire.latency = lambda: 0.3
    bench.target = "other"
    await bench.put(standby=Standby(OTHER, 6))
    await asyncio.sleep(after_seconds)
    bench.runner.drop("for the test")
    assert not bench.acting
    bench.me = None
    await bench.runner.settled()
    assert bench.phase is Phase.IDLE
    assert bench.shards[0].calls[-1] == "stop"
    assert bench.deaths == []


async def test_dropping_twice_and_while_a_standby_closes_is_one_stop_too_many_at_most(bench: Bench) -> None:
    await bench.put(holder=OTHER)
    await asyncio.sleep(0.2)
    bench.behaviour.stop_seconds = 0.3
    bench.target = "other"
    await asyncio.sleep(0.1)
    bench.runner.drop("for the test")
    bench.runner.drop("for the test, again")
    await bench.runner.settled()
    assert bench.shards[0].calls.count("stop") == 2
    assert bench.phase is Phase.IDLE
    assert bench.deaths == []


async def test_a_standby_that_synced_after_it_was_closed_says_nothing_about_the_next_one(bench: Bench) -> None:
    bench.behaviour.prewarm_seconds = 0.5
    await bench.put(holder=OTHER)
    await asyncio.sleep(0.2)
    await bench.put(holder=None, released=5)
    bench.runner.drop("right after the claim was decided")
    bench.paused = True
    await bench.runner.settled()
    await asyncio.sleep(1.0)
    assert not bench.runner.local.synced
    assert bench.runner.shard is None


@pytest.mark.parametrize("when", ["in standby", "after a release"])
async def test_views_that_close_slowly_where_nothing_acts_do_not_end_the_process(bench: Bench, when: str) -> None:
    bench.behaviour.stop_seconds = 5.0
    if when == "in standby":
        await bench.put(holder=OTHER)
        await asyncio.sleep(0.2)
        bench.target = "other"
    else:
        await bench.owned()
        bench.target = "other"
        await bench.put(standby=Standby(OTHER, 6))
    await asyncio.sleep(8.0)
    assert bench.deaths == []
    assert bench.phase is Phase.IDLE
    assert not bench.runner.busy


async def test_views_that_never_close_end_the_process_after_all_where_nothing_acts_too(bench: Bench) -> None:
    await bench.put(holder=OTHER)
    await asyncio.sleep(0.2)
    bench.behaviour.stop_seconds = 1000.0
    bench.target = "other"
    await asyncio.sleep(CLOSE_SECONDS + 2.0)
    assert bench.deaths == [EX_DEADLINE]
    bench.behaviour.stop_seconds = 0.0


@pytest.mark.parametrize("how", ["hangs", "fails"])
async def test_what_does_not_stop_ends_the_process(bench: Bench, how: str) -> None:
    await bench.owned()
    if how == "hangs":
        bench.behaviour.stop_seconds = 100.0
    else:
        bench.behaviour.stop_error = RuntimeError("a bug")
    bench.runner.drop("for the test")
    await bench.runner.settled()
    assert bench.deaths == [EX_DEADLINE]
    assert bench.runner.holding, "it has not said that it stopped"
    bench.behaviour.stop_seconds, bench.behaviour.stop_error = 0.0, None


async def test_what_cannot_be_drained_ends_the_process_and_is_not_released(bench: Bench) -> None:
    await bench.owned()
    bench.behaviour.undrained = True
    bench.target = "other"
    bench.stop_evaluating()
    standby = await bench.put(standby=Standby(OTHER, 6))
    bench.runner.evaluate(Seen(ME, bench.map, standby))
    await bench.runner.settled()
    assert bench.deaths == [EX_DEADLINE]
    assert (await bench.record()).holder == ME


# -- what fails to open ---------------------------------------------------------------------------------------------


async def test_a_shard_that_fails_to_open_is_opened_again_later_and_later(bench: Bench) -> None:
    bench.behaviour.opening_error = RuntimeError("a bug in the author's module")
    await bench.put()
    await asyncio.sleep(10.0)
    early = len(bench.shards)
    assert 3 <= early <= 8
    await asyncio.sleep(60.0)
    assert len(bench.shards) - early <= 6
    bench.behaviour.opening_error = None
    await asyncio.sleep(60.0)
    assert bench.acting
    assert bench.shards[-1].open


async def test_a_standby_that_fails_to_open_is_opened_again_later_and_later(bench: Bench) -> None:
    bench.behaviour.prewarm_error = RuntimeError("a bug")
    await bench.put(holder=OTHER)
    await asyncio.sleep(10.0)
    assert 3 <= len(bench.shards) <= 8
    assert (await bench.record()).standby is None


async def test_a_range_that_failed_to_open_is_given_back_without_delay_when_it_has_moved_on(bench: Bench) -> None:
    bench.behaviour.opening_error = RuntimeError("a bug")
    await bench.put()
    await asyncio.sleep(20.0)
    bench.target = "other"
    await asyncio.sleep(0.5)
    assert (await bench.record()).holder is None


async def test_a_tenure_that_ended_while_its_gate_was_closed_is_no_failure(bench: Bench) -> None:
    bench.behaviour.opening_error = NotOwner("the deadline has passed")
    await bench.put()
    await asyncio.sleep(0.2)
    bench.behaviour.opening_error = None
    await asyncio.sleep(0.5)
    assert bench.shards[-1].open


async def test_a_conflict_is_looked_at_again_after_a_pause_and_not_at_once(bench: Bench) -> None:
    await bench.put()
    bench.wire.faults.held = True
    await bench.put(holder=OTHER)
    bench.runner.drop("to begin anew")
    requests = len(bench.wire.on_the_wire)
    await asyncio.sleep(2.0)
    assert requests == 0
    assert not bench.acting
    bench.wire.release()
    await asyncio.sleep(0.5)
    assert bench.phase is Phase.STANDBY


async def test_nothing_is_written_after_the_deadline(bench: Bench) -> None:
    bench.until = 0.0
    await bench.put()
    await asyncio.sleep(1.0)
    assert (await bench.record()).holder is None
