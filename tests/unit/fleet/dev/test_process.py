from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.dev.process import Part, PartFailed, Say, start
from shards.errors import ConfigError, ShardError


@pytest.fixture
def launch(tmp_path: Path) -> Callable[[Callable[[Say], int]], Part]:
    log = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT, 0o600)
    return lambda main: start("part", main, log)


def wait_for_ever(say: Say) -> int:
    say("here")
    signal.pause()
    return 0


def test_it_is_ready_when_it_says_so_and_ends_when_told(launch: Callable[[Callable[[Say], int]], Part]) -> None:
    part = launch(wait_for_ever)
    assert part.wait_ready(10.0) == "here"
    assert part.alive()
    part.end()
    assert not part.alive()
    assert part.exit_code == -signal.SIGTERM


def test_one_that_does_not_listen_is_killed(launch: Callable[[Callable[[Say], int]], Part]) -> None:
    def deaf(say: Say) -> int:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        return wait_for_ever(say)

    part = launch(deaf)
    part.wait_ready(10.0)
    part.end(grace_seconds=0.05)
    assert part.exit_code == -signal.SIGKILL


@pytest.mark.parametrize(
    ("error", "kind", "sentence"),
    [
        (ConfigError("port", "is in use"), ConfigError, "port: is in use"),
        (ShardError("no server"), PartFailed, "no server"),
        (ValueError("oops"), PartFailed, "unexpected ValueError: oops"),
    ],
)
def test_why_it_cannot_start_is_told_in_its_own_words(
    launch: Callable[[Callable[[Say], int]], Part], error: Exception, kind: type[ShardError], sentence: str
) -> None:
    def fail(say: Say) -> int:
        raise error

    with pytest.raises(kind) as caught:
        launch(fail).wait_ready(10.0)
    assert str(caught.value) == sentence


def test_an_end_without_a_word_is_told_by_its_exit_code(launch: Callable[[Callable[[Say], int]], Part]) -> None:
    with pytest.raises(PartFailed, match="the part ended with exit code 7; see the log"):
        launch(lambda say: 7).wait_ready(10.0)


def test_its_output_goes_to_the_log(launch: Callable[[Callable[[Say], int]], Part], tmp_path: Path) -> None:
    def speak(say: Say) -> int:
        os.write(1, b"out")
        os.write(2, b"err")
        say("done")
        return 0

    part = launch(speak)
    part.wait_ready(10.0)
    part.end()
    assert (tmp_path / "log").read_text() == "outerr"
