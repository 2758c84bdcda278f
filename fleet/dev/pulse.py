"""What the children of a pod say about themselves, and what the kernel says about them: read twenty times a second."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from fleet.dev.takeover import ShardPulse
from fleet.health.health import Unanswered, ask_metrics, ask_status
from fleet.health.metrics import Family
from fleet.processes.children import ChildRecord, read_children

RECONCILES = "controller_runtime_reconcile_total"

_ASK_SECONDS = 0.5
_MIB = 1 << 20
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")


class Pulse(NamedTuple):
    """One look. shards: per worker that answered. rss_mib: resident memory per worker, pages shared with the
    supervisor included."""

    children: Mapping[str, ChildRecord]
    shards: Mapping[str, Mapping[str, ShardPulse]]
    rss_mib: Mapping[str, float]


class _WorkerStatus(msgspec.Struct):
    shards: dict[str, ShardPulse] = {}


class PulseReader:
    """Reads the children of one run directory. reconciles: all that were counted, by children that are dead too."""

    def __init__(self, run_dir: Path) -> None:
        self._run_dir = run_dir
        self._counted: dict[tuple[str, int], float] = {}
        self._last: dict[str, tuple[ChildRecord, Mapping[str, ShardPulse]]] = {}

    @property
    def reconciles(self) -> int:
        """As of the last `count`; what a killed child counted after that is missing."""
        return int(sum(self._counted.values()))

    async def look(self) -> Pulse:
        """A worker that is too busy to answer counts as unchanged, as long as it is the same process."""
        children = read_children(self._run_dir)
        workers = [name for name in children if name.startswith("worker-")]
        answers = await asyncio.gather(*(self._shards(name) for name in workers))
        shards: dict[str, Mapping[str, ShardPulse]] = {}
        for name, answer in zip(workers, answers, strict=True):
            child, before = self._last.get(name, (None, {}))
            shards[name] = answer if answer is not None else before if child == children[name] else {}
            self._last[name] = (children[name], shards[name])
        rss = {name: rss_mib(children[name].pid) for name in workers}
        return Pulse(children, shards, rss)

    async def count(self) -> None:
        """Asks every worker how many reconciles it has run."""
        workers = [name for name in read_children(self._run_dir) if name.startswith("worker-")]
        await asyncio.gather(*(self._count(name) for name in workers))

    async def _shards(self, name: str) -> Mapping[str, ShardPulse] | None:
        try:
            answer = await ask_status(self._run_dir, name, timeout_seconds=_ASK_SECONDS)
            return msgspec.convert(answer, _WorkerStatus).shards
        except Unanswered:
            return None

    async def _count(self, name: str) -> None:
        try:
            answer = await ask_metrics(self._run_dir, name, timeout_seconds=_ASK_SECONDS)
        except Unanswered:
            return
        families = msgspec.json.decode(bytes(answer.families), type=list[Family])
        samples = [sample for family in families for sample in family.samples if sample[0] == RECONCILES]
        self._counted[name, answer.incarnation] = sum(value or 0.0 for _, _, value in samples)


def rss_mib(pid: int) -> float:
    """Resident memory of a process in MiB; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0.0
    return int(fields[1]) * _PAGE_BYTES / _MIB
