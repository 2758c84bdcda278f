from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from chaos.simulation.campaign.crew import Crew, after
from chaos.simulation.campaign.errand import Errand, Failure, Played
from shards.errors import ShardError
from tests.unit.chaos.simulation.campaign import players

Serve = Callable[[Connection], None]


def crew(serve: Serve, jobs: int = 2, stuck_seconds: float = 60.0, retire_after: int = 1000) -> Crew:
    return Crew(jobs, clock=time.monotonic, stuck_seconds=stuck_seconds, retire_after=retire_after, serve=serve)


def errands(*starts: int, seeds: int = 10) -> Iterable[Errand]:
    return (Errand(first_seed=start, seeds=seeds) for start in starts)


def played(crew: Crew, errands: Iterable[Errand]) -> tuple[list[int], list[Failure]]:
    """Seeds that were played, in order of their numbers, and what failed."""
    with crew:
        told = list(crew.play(iter(errands)))
    seeds = sorted(each.seed for each in told if isinstance(each, Played))
    return seeds, [each for each in told if isinstance(each, Failure)]


def test_every_seed_is_played_once() -> None:
    assert played(crew(players.honest), errands(0, 10, 20)) == (list(range(30)), [])


def test_a_history_that_kills_its_process_is_played_twice_and_told() -> None:
    seeds, failures = played(crew(players.dies_of_13), errands(0, 10, 20))

    assert seeds == [seed for seed in range(30) if seed != 13]
    assert [(each.seed, each.kind) for each in failures] == [(13, "died")]
    assert failures[0].what == "its process died twice in this history (SIGKILL)"


def test_no_seed_is_lost_when_a_process_is_killed_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert played(crew(players.dies_once), errands(0, 10, 20)) == (list(range(30)), [])
    assert Path("died").exists()


def test_a_history_without_an_end_is_told_and_the_others_are_played() -> None:
    seeds, failures = played(crew(players.hangs_in_13, stuck_seconds=2.0), errands(10))

    assert seeds == [10, 11, 12, *range(14, 20)]
    assert [(each.seed, each.kind) for each in failures] == [(13, "stuck")]


def test_processes_that_cannot_start_are_an_error_and_no_finding() -> None:
    with pytest.raises(ShardError, match=r"die before they play anything \(exit code 3\)"):
        played(crew(players.never_starts, jobs=1), errands(0))


def test_a_process_retires_after_so_many_histories() -> None:
    working = crew(players.honest, jobs=1, retire_after=10)
    with working:
        processes = {hand.process.pid for _ in working.play(iter(errands(0, 10))) for hand in working._hands}

    assert len(processes) == 2


def test_no_process_outlives_the_crew() -> None:
    before = set(multiprocessing.active_children())
    with crew(players.hangs_in_13) as working:
        assert next(working.play(iter(errands(13)))) is None
        assert set(multiprocessing.active_children()) - before

    assert set(multiprocessing.active_children()) == before


def test_what_is_left_of_an_errand_begins_behind_the_seed_that_was_played() -> None:
    errand = Errand(first_seed=5, seeds=3, broken_rule="no-fence")

    assert after(errand, 5) == Errand(first_seed=6, seeds=2, broken_rule="no-fence")
    assert after(errand, 7) is None
