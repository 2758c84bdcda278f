"""The fleet that an experiment wants, as its file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chaos.documents.fields import Fields
from shards.errors import ConfigError

TARGETS = ("dev", "real", "kube")
"""dev: the embedded server. real: a real kube-apiserver that is there for tests. kube: a fleet in a cluster."""


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """A fleet that is started for the experiment.

    targets: what the experiment can run on; the first is the default. controller: FILE:NAME, relative to the working
    directory; "" for the one that experiments come with. config: sections of the fleet's config file beside what is
    said here. token_file: the pods act as a service account whose token lies in a file. own_server: the experiment
    harms the server itself, which no other one may share then. start_seconds: bound on the time until it is settled
    for the first time.
    """

    targets: tuple[str, ...]
    controller: str
    pods: int
    workers: int
    shards: int
    objects: int
    changes_per_second: float
    lease_seconds: float
    start_seconds: float
    front_ends: int
    own_server: bool
    token_file: bool
    config: Mapping[str, Any] = field(default_factory=dict)


def parse_settings(value: object, path: str) -> TargetSettings:
    """From the file. Raises ConfigError."""
    fields = Fields(value, path)
    fields.known(
        (
            "on", "controller", "pods", "workersPerPod", "shards", "objects", "changesPerSecond", "leaseSeconds",
            "startSeconds", "frontEnds", "ownServer", "tokenFile", "config",
        ),
        unsupported={},
    )  # fmt: skip
    return TargetSettings(
        targets=_targets(fields),
        controller=fields.text("controller", "FILE:NAME, such as websites.py:websites")
        if fields.given("controller")
        else "",
        pods=fields.count("pods", least=1, most=16, default=2),
        workers=fields.count("workersPerPod", least=1, most=16, default=2),
        shards=fields.count("shards", least=1, most=4096, default=8),
        objects=fields.count("objects", least=1, most=100_000, default=100),
        changes_per_second=fields.seconds("changesPerSecond", 10.0),
        lease_seconds=fields.seconds("leaseSeconds", 3.0),
        start_seconds=fields.seconds("startSeconds", 60.0),
        front_ends=fields.count("frontEnds", least=1, most=4, default=1),
        own_server=fields.flag("ownServer"),
        token_file=fields.flag("tokenFile"),
        config=fields.mapping("config").as_dict(),
    )


def _targets(fields: Fields) -> tuple[str, ...]:
    found = []
    for path, item in fields.items("on"):
        if item not in TARGETS:
            raise ConfigError(path, f"{item!r} is no target; write {', '.join(TARGETS)}")
        found.append(str(item))
    return tuple(found) or ("dev", "real")
