"""What every measurement gets, and what it gives."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.rebalancing.servers import BenchServer
from benchmarks.table import Row


@dataclass(frozen=True, slots=True)
class Bench:
    """servers: to measure on, one after the other. directory: for logs and journals, which stay. quick: as little as
    shows that the measurement works; its figures say nothing about the product."""

    servers: Sequence[BenchServer]
    directory: Path
    quick: bool = False

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full


Measure = Callable[[Bench], Awaitable[list[Row]]]
"""One part of the table."""


class NotReached(Exception):
    """A fleet did not get where a measurement begins, or never came to what it waits for."""


def say(line: str) -> None:
    """How far it is, to standard error."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


async def on_each_server(bench: Bench, name: str, measured: Callable[[BenchServer], Awaitable[list[Row]]]) -> list[Row]:
    """The rows of all servers. Where a fleet does not get where it should, that is a missed row, and the next server is
    measured all the same. name: of the measurement."""
    rows: list[Row] = []
    for server in bench.servers:
        try:
            rows += await measured(server)
        except NotReached as failure:
            say(f"{name}: {failure}")
            rows.append(Row(f"{name} came to its end, {server.name}", 0, "", 1, at_least=True))
    return rows


def median_and_worst(
    quantity: str, values: Sequence[float | None], unit: str, target: float | None, digits: int = 3
) -> list[Row]:
    """Two rows of several runs. values: None for a run that never came to its end, which is the worst. The target holds
    for every run, so that it is judged on the worst."""
    reached = [value for value in values if value is not None]
    whole = len(reached) == len(values) and values
    return [
        Row(f"{quantity}, median of {len(values)}", round(median(reached), digits) if reached else None, unit),
        Row(f"{quantity}, worst of {len(values)}", round(max(reached), digits) if whole else None, unit, target),
    ]
