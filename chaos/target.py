"""The fleet that is experimented on, as actions and probes see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from chaos.fields import Fields
from fleet.devcluster.evidence.verdict import Verdict
from shards.errors import ShardError


class TargetFailed(ShardError):
    """The target did not start, ended by itself, or cannot be asked or harmed as wanted."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One child that was sent SIGKILL. at: seconds on the recorder's clock, right before the signal."""

    child: str
    member: str
    pid: int
    at: float


class Target(Protocol):
    """kills: in their order. ranges: how many the fleet has. `now` and all times are boot-clock seconds.

    Methods raise TargetFailed, and Unreachable where the server does not answer.
    """

    @property
    def kills(self) -> Sequence[Kill]: ...

    @property
    def ranges(self) -> int: ...

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...

    def verdict(self) -> Verdict:
        """What the recorder in front of the server has to say so far."""
        ...

    def members(self) -> Mapping[str, str]:
        """Name of the fleet member by name of each worker process that is alive."""
        ...

    def kill(self, child: str) -> Kill:
        """SIGKILL to exactly the process that bears the name now."""
        ...

    def unsettled(self) -> int:
        """How many primary objects the controller is not done with, by their live state; those that should exist and
        do not count too."""
        ...

    def add_objects(self, count: int) -> None:
        """Makes so many more primary objects."""
        ...


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """A fleet that is started for the experiment, by `fleet dev`.

    controller: FILE:NAME, relative to the working directory. seconds: after which it ends by itself, so that nothing
    stays behind. settle_seconds: bound on the time until it is settled for the first time.
    """

    controller: str
    workers: int
    shards: int
    objects: int
    seconds: float
    settle_seconds: float


def parse_target(value: object, path: str) -> TargetSettings:
    """From the file. Raises ConfigError."""
    fields = Fields(value, path)
    fields.word("type", ("dev",))
    fields.known(("type", "controller", "workers", "shards", "objects", "seconds", "settleSeconds"), unsupported={})
    return TargetSettings(
        controller=fields.text("controller", "FILE:NAME, such as docs/examples/websites.py:websites"),
        workers=fields.count("workers", least=1, most=64),
        shards=fields.count("shards", least=1, most=4096),
        objects=fields.count("objects", least=1, most=100_000),
        seconds=fields.seconds("seconds", 120.0),
        settle_seconds=fields.seconds("settleSeconds", 30.0),
    )
