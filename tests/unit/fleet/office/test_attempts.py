"""One record's trouble does not keep the coordinator from the others."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fleet.office.attempts import FIRST_PAUSE_SECONDS, FORGET_SECONDS, LONGEST_PAUSE_SECONDS, Attempts
from fleet.records.coordination import CasConflict, CoordinationUnavailable, ProtocolMismatch
from fleet.records.object_names import Kind
from fleet.records.record import MemberRecord
from tests.unit.fleet.ownership import LEASE_SECONDS, Fleet, Wire, running


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def refused() -> None:
    raise CoordinationUnavailable("403")


async def conflicted() -> None:
    raise CasConflict("it moved")


async def carried_out() -> None:
    """Nothing is in its way."""


async def test_what_fails_is_left_alone_for_a_pause_that_doubles() -> None:
    clock = Clock()
    attempts = Attempts(clock)
    tried = []
    for _ in range(2000):
        if await _tried(attempts):
            tried.append(clock.now)
        clock.now += 0.01
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert pauses[:4] == pytest.approx([FIRST_PAUSE_SECONDS, 1.0, 2.0, LONGEST_PAUSE_SECONDS], abs=0.02)
    assert max(pauses) == pytest.approx(LONGEST_PAUSE_SECONDS, abs=0.02)


async def _tried(attempts: Attempts) -> bool:
    await attempts.make("fence a", refused)
    try:
        attempts.settle()
    except CoordinationUnavailable:
        return True
    return False


async def test_others_are_tried_and_the_first_error_is_raised_once() -> None:
    attempts = Attempts(Clock())
    assert not await attempts.make("fence a", refused)
    assert not await attempts.make("fence b", conflicted)
    assert await attempts.make("fence c", carried_out)
    with pytest.raises(CoordinationUnavailable):
        attempts.settle()
    attempts.settle()


async def test_a_conflict_is_tried_again_at_once() -> None:
    attempts = Attempts(Clock())
    assert not await attempts.make("retire r", conflicted)
    assert await attempts.make("retire r", carried_out)


async def test_a_record_of_another_protocol_stops_no_other() -> None:
    attempts = Attempts(Clock())

    async def mismatched() -> None:
        raise ProtocolMismatch("", "Lease web-member-a has protocol 2")

    assert not await attempts.make("look for a", mismatched)
    assert await attempts.make("look for b", carried_out)
    with pytest.raises(CoordinationUnavailable, match="protocol 2"):
        attempts.settle()


async def test_a_conflict_that_comes_again_pauses_as_well() -> None:
    clock = Clock()
    attempts = Attempts(clock)
    tried = []

    async def one() -> None:
        tried.append(clock.now)
        raise CasConflict("there is one that no list shows")

    for _ in range(2000):
        await attempts.make("activate r", one)
        clock.now += 0.01
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert pauses[:5] == pytest.approx([0.01, FIRST_PAUSE_SECONDS, 1.0, 2.0, LONGEST_PAUSE_SECONDS], abs=0.02)
    assert max(pauses) == pytest.approx(LONGEST_PAUSE_SECONDS, abs=0.02)


async def test_what_has_failed_is_known_when_it_is_due_again() -> None:
    clock = Clock()
    attempts = Attempts(clock)
    assert not attempts.is_again("activate r")
    await attempts.make("activate r", refused)
    assert not attempts.is_again("activate r")
    clock.now += FIRST_PAUSE_SECONDS
    assert attempts.is_again("activate r")
    await attempts.make("activate r", carried_out)
    assert not attempts.is_again("activate r")


async def test_what_is_not_tried_any_more_is_forgotten() -> None:
    clock = Clock()
    attempts = Attempts(clock)
    for i in range(100):
        await attempts.make(f"fence {i}", refused)
        clock.now += FORGET_SECONDS / 10
        with pytest.raises(CoordinationUnavailable):
            attempts.settle()
    assert len(attempts._pauses) <= 11


class RefusedFences(Wire):
    """May do everything but write the record of one member, as where somebody took the right to this Lease away."""

    async def write_member(self, new: MemberRecord, replaces: str, *, not_after: float | None = None) -> MemberRecord:
        if new.name == "a":
            raise CoordinationUnavailable("write of web-member-a: 403 Forbidden")
        return await super().write_member(new, replaces, not_after=not_after)


@pytest.mark.looptime(noop_cycles=0)
async def test_a_fence_that_is_refused_for_ever_stops_nothing_else() -> None:
    fleet = Fleet(ranges=10)
    fleet.wires["agent"] = RefusedFences(fleet.store, fleet.faults("agent"))
    async with running(fleet, "a", "b", "c", "d", "e"):
        await fleet.crash("a")
        await fleet.crash("b")
        fleet.start("f")
        await fleet.until(
            lambda: (found := fleet.member("b")) is not None and found.holder is None, 3 * LEASE_SECONDS, "b is fenced"
        )
        await fleet.until(lambda: fleet.holds("f") != [], 2 * LEASE_SECONDS, "ranges move to f")
        survivor = fleet.member("a")
        assert survivor is not None
        assert survivor.holder is not None
        assert fleet.store.of(Kind.MAP)
