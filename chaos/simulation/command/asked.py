"""What somebody asks of `fleet sim`, and which of it does not go together."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from chaos.simulation.campaign.campaign import Campaign
from chaos.simulation.plan import Depth

SEEDS = 1000
LARGEST_FRESH = 10**12
"""Fresh seeds are below it: short enough to be read out, and so many that no two runs meet."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options by name; None, "" and False where they were not given."""

    seeds: int | None
    first_seed: int | None
    seconds: float | None
    jobs: int | None
    depth: Depth | None
    stop_at: int | None
    keep_going: bool
    broken_rule: str
    seed: int | None
    scenario: Path | None
    trace: bool
    shrink: bool
    output: Path | None
    as_json: bool

    @property
    def is_one(self) -> bool:
        """Whether it is about one history."""
        return self.seed is not None or self.scenario is not None

    @property
    def depth_of_seeds(self) -> Depth:
        return self.depth or "protocol"

    def check(self) -> None:
        """Raises click.UsageError for options that exclude each other or miss another."""
        many, one = ("seeds", "first_seed", "seconds", "jobs", "stop_at", "keep_going"), ("trace", "shrink", "output")
        for name in many if self.is_one else one:
            if getattr(self, name) not in (None, False):
                why = "is for many histories; --seed and --scenario are for one" if self.is_one else _NEEDS_ONE
                raise click.UsageError(f"--{name.replace('_', '-')} {why}")
        for wrong, why in _WRONG:
            if wrong(self):
                raise click.UsageError(why)

    def output_file(self, seed: int) -> Path:
        """What --shrink writes; the scenario that it was asked about stays."""
        if self.output is not None:
            return self.output
        return (
            Path(f"seed-{seed}.yaml")
            if self.scenario is None
            else self.scenario.with_stem(f"{self.scenario.stem}-shorter")
        )

    def campaign(self) -> Campaign:
        """Fresh seeds where none were named; one process a core; to the first failure."""
        seeds = self.seeds if self.seeds is not None or self.seconds is not None else SEEDS
        jobs = self.jobs or len(os.sched_getaffinity(0))
        return Campaign(
            first_seed=secrets.randbelow(LARGEST_FRESH) if self.first_seed is None else self.first_seed,
            seeds=seeds,
            seconds=self.seconds,
            jobs=jobs if seeds is None else min(jobs, seeds),
            depth=self.depth_of_seeds,
            broken_rule=self.broken_rule,
            stop_at=None if self.keep_going else self.stop_at or 1,
        )


_NEEDS_ONE = "needs --seed or --scenario: it is for one history"
_WRONG: tuple[tuple[Callable[[Asked], bool], str], ...] = (
    (
        lambda asked: asked.keep_going and asked.stop_at is not None,
        "--keep-going and --stop-at exclude each other",
    ),
    (
        lambda asked: asked.seed is not None and asked.scenario is not None,
        "--seed and --scenario exclude each other: each is one history",
    ),
    (
        lambda asked: asked.depth is not None and asked.scenario is not None,
        "--depth is for seeds; a scenario file says itself at which depth it is played: depth: stack",
    ),
    (
        lambda asked: asked.output is not None and not asked.shrink,
        "--output needs --shrink: it is the file that --shrink writes",
    ),
    (
        lambda asked: asked.shrink and asked.trace,
        "--shrink and --trace exclude each other: shrink first, then trace the file that it writes",
    ),
    (
        lambda asked: asked.shrink and asked.as_json,
        "--shrink and --json exclude each other: the file that --shrink writes is for programs too",
    ),
)
