"""Rules that are taken out of the processes of a fleet."""

from __future__ import annotations

import random
import time

import pytest

import shards.clock
from chaos.command.broken_fleet import without
from chaos.command.broken_rules import RULES
from chaos.simulation.removals import REMOVALS
from fleet.processes.restarts import RestartPolicy
from fleet.workers import member
from shards.errors import ConfigError, Expired, Unreachable
from shards.transport import http_transport
from shards.watching.watch import Mode, WatchMachine
from shards.watching.watch_requests import CheckHistory
from shards.watching.wire import Page

OWN = sorted(RULES.keys() - REMOVALS.keys())


def test_every_rule_of_the_simulation_can_be_taken_out_too() -> None:
    assert REMOVALS.items() <= RULES.items()
    assert {name: each.name for name, each in RULES.items()} == {name: name for name in RULES}


@pytest.mark.parametrize("name", OWN)
def test_a_replacement_can_be_called_as_what_it_stands_for_and_is_put_back(name: str) -> None:
    before = [getattr(owner, attribute) for owner, attribute, _ in RULES[name].swaps]
    with RULES[name].remove():
        during = [getattr(owner, attribute) for owner, attribute, _ in RULES[name].swaps]
        assert all(one is not other for one, other in zip(before, during, strict=True))
    assert [getattr(owner, attribute) for owner, attribute, _ in RULES[name].swaps] == before


def test_the_dead_are_left_alone_and_leases_last() -> None:
    with RULES["dead-stay-dead"].remove():
        assert RestartPolicy().delay_seconds(1.0) > 600
    assert RestartPolicy().delay_seconds(1.0) == 0
    with RULES["lease-without-end"].remove():
        assert member.acting_until(10.0, 3.0) > 600  # type: ignore[attr-defined]


def test_a_clock_that_somebody_sets_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    with RULES["time-of-day"].remove():
        began, today = shards.clock.boot_seconds(), time.time()
        monkeypatch.setattr(time, "time", lambda: today - 7200)
        assert shards.clock.boot_seconds() == pytest.approx(began - 7200, abs=5)
    assert shards.clock.boot_seconds() >= began


def test_nobody_hears_of_a_pause() -> None:
    with RULES["pauses-unheeded"].remove():
        assert http_transport.error_from(429, b"", "7").retry_after_seconds is None  # type: ignore[attr-defined]
    assert http_transport.error_from(429, b"", "7").retry_after_seconds == 7  # type: ignore[attr-defined]


def watching() -> WatchMachine:
    machine = WatchMachine((), random.Random(1))
    machine.page(Page(items=[], prefix=b"", version="10", next=""))
    return machine


@pytest.mark.parametrize("rule", ["resume-at-the-newest", "expired-is-skipped"])
def test_a_watch_that_expired_goes_on_where_the_server_is_and_misses_what_was_between(rule: str) -> None:
    with RULES[rule].remove():
        machine = watching()
        machine.failed(Expired(410))
        assert machine.mode is Mode.CHECK
        machine.checked("20")
        assert (machine.mode, machine.version, machine.complete) == (Mode.WATCH, "20", True)
    machine = watching()
    machine.failed(Expired(410))
    assert (machine.mode, machine.complete) == (Mode.PAGES, False)


@pytest.mark.parametrize(("rule", "version"), [("resume-at-the-newest", "20"), ("expired-is-skipped", "10")])
def test_a_watch_that_broke_goes_on_where_the_server_is_or_where_it_was(rule: str, version: str) -> None:
    with RULES[rule].remove():
        machine = watching()
        machine.failed(Unreachable("cut"))
        machine.checked("20")
        assert (machine.mode, machine.version) == (Mode.WATCH, version)


def test_whoever_answers_is_believed() -> None:
    with RULES["caches-are-believed"].remove():
        machine = watching()
        machine.mode = Mode.CHECK
        request, _ = machine.request()
        assert isinstance(request, CheckHistory)
        assert ("resourceVersion", "0") in request.query


def test_a_rule_that_is_none_is_told_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match="dead-stay-dead"):
        without("dead-stay-dea")
    assert without("dead-stay-dead")[-2:] == ("dead-stay-dead", "run")
