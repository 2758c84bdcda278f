"""The process that played shards are in: what they share."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from chaos.simulation.happenings import Happening
from chaos.simulation.process import Process
from chaos.simulation.protocol.wire import Wire


@dataclass(slots=True)
class ShardHost:
    """hear: the jury and the trace."""

    member: str
    process: Process
    wire: Wire
    rng: random.Random
    hear: Callable[[Happening], None]
