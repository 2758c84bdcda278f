"""Cases of finalizers: one that left early, and two controllers that remove theirs at a time. In virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest

from shards import Context, Controller, Request
from shards.objects import Object
from shards.ownership.fenced_requests import FencedRequests
from tests.integration.cases.finalizers import MINE, finalizers_of, hold, leave
from tests.integration.cases.gated import ON_AND_OFF, Gated, controller_of, gated, gated_world
from tests.unit.shards.world import WEBSITES, RecordingTransport, Sent

pytestmark = pytest.mark.looptime


# -- B92: two steps to clean up ----------------------------------------------------------------------------------------

STEPS = ("dns", "disk")


class Cleanup:
    """Takes down what it made elsewhere, step by step, each of them recorded; then the object may go.

    done: the steps, in order. The second one fails the first time. early: the object may go after the first step.
    """

    def __init__(self, *, early: bool = False) -> None:
        self.done: list[str] = []
        self.failed = False
        self.early = early

    async def reconcile(self, ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is None:
            return
        if not site["metadata"].get("deletionTimestamp"):
            if MINE not in finalizers_of(site):
                await hold(ctx, WEBSITES, site, MINE)
            return
        cleaned = list((site.get("status") or {}).get("cleaned") or ())
        for step in STEPS[: 1 if self.early else None]:
            if step not in cleaned:
                self._take_down(step)
                cleaned.append(step)
                site = await ctx.client.patch_status({"cleaned": cleaned})
        await leave(ctx, WEBSITES, site, MINE)

    def _take_down(self, step: str) -> None:
        if step == "disk" and not self.failed:
            self.failed = True
            raise OSError("the disk is in use")
        self.done.append(step)


class Crashing(RecordingTransport):
    """The process ends at its n-th write: before it is sent, or when it is carried out but not answered yet."""

    def __init__(self, inner: Any, at: int, *, carried_out: bool) -> None:
        super().__init__(inner)
        self.at = at
        self.carried_out = carried_out
        self.crashed = asyncio.Event()

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        last = method != "GET" and len(self.writes()) == self.at - 1
        answer = b"" if last and not self.carried_out else await super().request(method, path, **options)
        if last or self.crashed.is_set():
            self.crashed.set()
            await asyncio.Event().wait()
        return answer


def _note_what_is_recorded_at_the_end(world: Gated, found: list[list[str]]) -> None:
    def before(sent: Sent) -> None:
        if sent.method == "PATCH" and (sent.body.get("metadata") or {}).get("finalizers") == []:
            found.append(list((world.there(WEBSITES)["a"].get("status") or {}).get("cleaned") or ()))

    world.transport.before = before


async def _cleaned_up(gate: bool, cleanup: Cleanup, *, lag: bool = False) -> list[list[str]]:
    """What was recorded each time that the finalizer was about to leave."""
    found: list[list[str]] = []
    async with gated(cleanup.reconcile, gate=gate) as world:
        _note_what_is_recorded_at_the_end(world, found)
        world.website()
        await asyncio.sleep(1.0)
        if lag:
            world.lag(WEBSITES, 1.0)
        await world.kubectl.delete(WEBSITES, "default", "a")
        await world.eventually(lambda: not world.there(WEBSITES), within_seconds=60.0, what="it is gone")
    return found


@ON_AND_OFF
async def test_b92_the_finalizer_leaves_when_all_steps_are_recorded(gate: bool) -> None:
    cleanup = Cleanup()
    assert await _cleaned_up(gate, cleanup) == [[*STEPS]]
    assert cleanup.done == [*STEPS]


async def test_b92_no_step_is_taken_twice_because_its_record_is_not_shown_yet() -> None:
    cleanup = Cleanup()
    assert await _cleaned_up(True, cleanup, lag=True) == [[*STEPS]]
    assert cleanup.done == [*STEPS]


async def test_b92_without_the_gate_steps_are_taken_twice_and_the_finalizer_still_leaves_last() -> None:
    """A record that builds on an old one is refused by its precondition, and what follows it is not reached."""
    cleanup = Cleanup()
    found = await _cleaned_up(False, cleanup, lag=True)
    assert all(each == [*STEPS] for each in found)
    assert Counter(cleanup.done)["dns"] > 1


@ON_AND_OFF
@pytest.mark.parametrize("carried_out", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
async def test_b92_a_crash_at_any_write_leaves_no_step_out(gate: bool, at: int, carried_out: bool) -> None:
    """Writes: the finalizer, the first step, the second one, the end of the finalizer."""
    found: list[list[str]] = []
    cleanup = Cleanup()
    async with gated_world(gate=gate) as world:
        transport = world.transport
        world.transport = crashing = Crashing(transport.inner, at, carried_out=carried_out)
        world.runtime = world.worker()
        shard = await world.running(controller_of(cleanup.reconcile))
        _note_what_is_recorded_at_the_end(world, found)
        world.website()
        if at > 1:
            await asyncio.sleep(1.0)
            await world.kubectl.delete(WEBSITES, "default", "a")
        await asyncio.wait_for(crashing.crashed.wait(), 60.0)
        await shard.stop()

        world.transport = transport
        world.runtime = world.worker()
        _note_what_is_recorded_at_the_end(world, found)
        again = world.shard(controller_of(cleanup.reconcile))
        await again.activate(world.tenure(epoch=2), None, previous_epoch=1)
        await asyncio.sleep(1.0)
        if at == 1:
            await world.kubectl.delete(WEBSITES, "default", "a")
        await world.eventually(lambda: not world.there(WEBSITES), within_seconds=60.0, what="it is gone")
    assert all(each == [*STEPS] for each in found)
    assert found or carried_out
    assert set(cleanup.done) == {*STEPS}


async def test_b92_oracle_fires() -> None:
    cleanup = Cleanup(early=True)
    assert await _cleaned_up(True, cleanup) == [["dns"]]


# -- B95: two controllers and their finalizers -------------------------------------------------------------------------

OTHERS = "backup.example.com/keep"


class Holder:
    """A controller that holds its primary until it has cleaned up."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.finalizer = f"{name}.example.com/cleanup"
        self.cleaned = 0

    def controller(self) -> Controller:
        holder = Controller(self.name, primary=str(WEBSITES))
        holder.reconcile(self.reconcile)
        return holder

    async def reconcile(self, ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is None:
            return
        held = self.finalizer in finalizers_of(site)
        if not site["metadata"].get("deletionTimestamp"):
            if not held:
                await hold(ctx, WEBSITES, site, self.finalizer)
        elif held:
            self.cleaned += 1
            await leave(ctx, WEBSITES, site, self.finalizer)


async def _both_at_once(gate: bool) -> tuple[list[tuple[set[str], set[str]]], Gated]:
    """What each write took from the finalizers, and what it added."""
    changes: list[tuple[set[str], set[str]]] = []
    holders = [Holder("one"), Holder("two")]
    async with gated_world(gate=gate) as world:

        def note(commit: Any) -> None:
            if commit.kind.resource == WEBSITES and commit.old is not None and commit.new is not None:
                old, new = (set(finalizers_of(msgspec.json.decode(each.raw))) for each in (commit.old, commit.new))
                if old != new:
                    changes.append((old - new, new - old))

        world.server.storage.listeners.append(note)
        world.transport.latency_seconds = 0.005
        await world.running([each.controller() for each in holders])
        metadata = {"name": "a", "namespace": "default", "finalizers": [OTHERS]}
        world.server.seed(WEBSITES, {"metadata": metadata, "spec": {}})
        await asyncio.sleep(10.0)
        await world.kubectl.delete(WEBSITES, "default", "a")
        await asyncio.sleep(10.0)
        patches = [each for each in world.transport.writes() if each.at >= world.clock() - 10.1]
        assert patches[1].at - patches[0].at < 0.01
        assert finalizers_of(world.there(WEBSITES)["a"]) == [OTHERS]
        await world.kubectl.merge_patch(WEBSITES, "default", "a", {"metadata": {"finalizers": None}})
        await asyncio.sleep(1.0)
        assert world.there(WEBSITES) == {}
        assert [each.cleaned > 0 for each in holders] == [True, True]
    return changes, world


def _disturbed(changes: list[tuple[set[str], set[str]]]) -> bool:
    """Whether somebody took or added more than what is its own."""
    return sorted(map(_counts, changes)) != [(0, 1), (0, 1), (1, 0), (1, 0)]


def _counts(change: tuple[set[str], set[str]]) -> tuple[int, int]:
    taken, added = change
    return len(taken), len(added)


@ON_AND_OFF
async def test_b95_two_controllers_that_add_and_remove_their_finalizers_at_once_leave_each_others_alone(
    gate: bool,
) -> None:
    """Each write names the version that it was worked out from: the second one is refused, and worked out again."""
    changes, world = await _both_at_once(gate)
    assert not _disturbed(changes)
    assert {each.error for each in world.transport.writes()} == {"", "Conflict"}


async def test_b95_oracle_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    send = FencedRequests.write

    async def unconditional(self: FencedRequests, *args: Any, **options: Any) -> Object:
        reason, resource, name, body = args
        metadata = {key: value for key, value in body["metadata"].items() if key == "finalizers"}
        return await send(self, reason, resource, name, {**body, "metadata": metadata}, **options)

    monkeypatch.setattr(FencedRequests, "write", unconditional)
    changes, _ = await _both_at_once(True)
    assert _disturbed(changes)


class Late:
    """Holds its primary, by a list of finalizers that it has read before somebody added one. pinned: it says so."""

    def __init__(self, *, pinned: bool) -> None:
        self.pinned = pinned
        self.read = asyncio.Event()
        self.added = asyncio.Event()

    async def reconcile(self, ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is None or MINE in finalizers_of(site):
            return
        self.read.set()
        await self.added.wait()
        assert await ctx.live.get(WEBSITES, request.name), "it looks again, and goes on with what it had"
        if self.pinned:
            await hold(ctx, WEBSITES, site, MINE)
        else:
            metadata = {"finalizers": [*finalizers_of(site), MINE]}
            await ctx.client.patch(WEBSITES, request.name, {"metadata": metadata})


async def _held_late(late: Late) -> list[str]:
    async with gated(late.reconcile, gate=True) as world:
        world.website()
        await late.read.wait()
        await world.kubectl.merge_patch(WEBSITES, "default", "a", {"metadata": {"finalizers": [OTHERS]}})
        late.added.set()
        await asyncio.sleep(10.0)
        return finalizers_of(world.there(WEBSITES)["a"])


async def test_b95_a_list_that_names_the_version_it_was_worked_out_from_takes_nobodys_finalizer_away() -> None:
    assert await _held_late(Late(pinned=True)) == [OTHERS, MINE]


async def test_b95_one_that_names_none_is_taken_for_a_list_of_what_was_read_last() -> None:
    """The author's mistake, which a live read of the primary in the same run makes possible."""
    assert await _held_late(Late(pinned=False)) == [MINE]
