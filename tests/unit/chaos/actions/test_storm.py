from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from chaos.actions import storm as module
from chaos.actions.gusts import GUSTS, Begin, Gust
from chaos.actions.storm import storm
from chaos.targets.target import Target, TargetFailed
from shards.objects import Resource
from tests.unit.chaos.targets.own_paper import OwnTarget


class Log:
    """Gusts of three kinds that note what they do. broken: names of those that cannot be brought about."""

    def __init__(self, *broken: str) -> None:
        self.lines: list[tuple[float, str]] = []
        self.gusts = tuple(Gust(name, self._begin(name, name in broken), (4.0, 4.0)) for name in "xyz")

    def _begin(self, name: str, broken: bool) -> Begin:
        def begin(target: Target, rng: object) -> tuple[str, object]:
            if broken:
                raise TargetFailed("not here")
            self.lines.append((target.now(), f"{name} begins"))
            return name, lambda: self.lines.append((target.now(), f"{name} ends"))

        return begin  # type: ignore[return-value]


def blow(log: Log, monkeypatch: pytest.MonkeyPatch, **arguments: float) -> dict[str, Any]:
    monkeypatch.setattr(module, "GUSTS", log.gusts)
    return storm(target=OwnTarget(), **arguments)  # type: ignore[arg-type]


def test_each_fault_ends_after_its_time_and_all_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    found = blow(log, monkeypatch, seconds=12.0, seed=1, every_seconds=10.0)
    assert [time for time, _ in log.lines] == [100.0, 104.0, 110.0, 112.0]
    assert [what.split()[1] for _, what in log.lines] == ["begins", "ends", "begins", "ends"]
    assert (found["seed"], found["faults"], found["seconds"], found["double_act_seen"]) == (1, 2, 12.0, False)
    assert [(each["at"], each["until"]) for each in found["strikes"]] == [(100.0, 104.0), (110.0, 112.0)]


def test_a_seed_draws_the_same_again_and_another_one_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    for seed in (5, 5, 6):
        log = Log()
        blow(log, monkeypatch, seconds=300.0, seed=seed)
        drawn.append(log.lines)
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_could_not_be_done_changes_nothing_of_what_is_drawn_later(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, broken = Log(), Log("x")
    for log in (whole, broken):
        blow(log, monkeypatch, seconds=300.0, seed=5)
    assert [line for line in whole.lines if line[1][0] != "x"] == [line for line in broken.lines if line in whole.lines]


def test_a_seed_that_nobody_gave_is_drawn_and_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = blow(Log(), monkeypatch, seconds=10.0)["seed"]
    assert seed
    assert f"storm of 10 s, seed {seed}\n" in capsys.readouterr().err


def test_what_cannot_be_done_is_counted_and_another_fault_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    found = blow(Log("x", "y"), monkeypatch, seconds=100.0, seed=1)
    assert found["struck"] == {"z": 10}
    assert set(found["could_not"]) == {"x", "y"}


def test_a_storm_without_a_single_fault_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log("z")
    log.gusts = log.gusts[2:]
    with pytest.raises(TargetFailed, match="no fault could be brought about: z: not here"):
        blow(log, monkeypatch, seconds=10.0, seed=1)


def test_a_storm_ends_with_the_first_double_act(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    monkeypatch.setattr(module, "double_acts", lambda target: int(target.now() >= 130.0))
    found = blow(log, monkeypatch, seconds=3600.0, seed=1)
    assert (found["faults"], found["double_act_seen"], found["seconds"]) == (3, True, 30.0)


def test_a_fault_that_takes_long_to_begin_is_not_followed_by_several_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that stands still for six seconds, say, has to go on before anybody is asked anything."""
    log = Log()
    begin = log.gusts[0].begin

    def slowly(target: Target, rng: Random) -> tuple[str, Any]:
        if target.now() == 110.0:
            target.sleep(25.0)
        return begin(target, rng)

    log.gusts = (Gust("x", slowly, (4.0, 4.0)),)
    blow(log, monkeypatch, seconds=60.0, seed=1)
    assert [time for time, what in log.lines if what.endswith("begins")] == [100.0, 135.0, 145.0, 155.0]
    assert [time for time, what in log.lines if what.endswith("ends")] == [104.0, 139.0, 149.0, 159.0]


@pytest.mark.parametrize("gust", GUSTS, ids=[gust.name for gust in GUSTS])
def test_every_fault_of_a_storm_begins_and_ends_on_a_fleet_that_has_what_it_needs(gust: Gust, tmp_path: Path) -> None:
    """What a storm has not drawn yet would not show that it cannot be done."""
    target = OwnTarget()
    target.pods.config = tmp_path / "fleet.yaml"
    target.pods.config.write_text("fleet: chaos\ncontroller: sites.py:sites\n")
    target.people.sites = Resource.parse("chaos.shardfleet.dev/v1/sites")
    target.api.put(target.people.resource, "site-0", {"apiVersion": "x/v1", "kind": "Site", "spec": {}})
    what, end = gust.begin(target, Random(1))
    assert what
    end()


def test_an_object_that_is_made_again_keeps_its_labels() -> None:
    target = OwnTarget()
    target.people.sites = Resource.parse("chaos.shardfleet.dev/v1/sites")
    site = {"apiVersion": "x/v1", "kind": "Site", "metadata": {"name": "s", "labels": {"team": "a"}}, "spec": {}}
    target.api.objects[target.people.resource, "s"] = site
    (again,) = (gust for gust in GUSTS if gust.name == "an object is made again")
    again.begin(target, Random(1))
    assert target.api.get(target.people.resource, "", "s")["metadata"]["labels"] == {"team": "a"}
