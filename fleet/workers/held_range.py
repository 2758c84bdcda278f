"""One range on one worker, as it stands: what others ask about it."""

from __future__ import annotations

import asyncio
from typing import Any

from fleet.records.report_record import ShardLoad, SplitPoint
from fleet.rules.handover import LocalShard, Phase
from fleet.workers.owned_shard import OwnedShard, shard_load, split_point
from shards.keyrange import KeyRange
from shards.queue.failing_keys import FailingKey
from shards.queue.waiting_keys import WaitingKey
from shards.reconciling.figures import Figures


class HeldRange:
    """local: where it stands. shard: its views and reconciles; None while it has none."""

    def __init__(self, each: KeyRange) -> None:
        self.range = each
        self.local = LocalShard(each)
        self.shard: OwnedShard | None = None
        self._claiming = False
        self._dropping = False
        self._task: asyncio.Task[None] | None = None
        """The action that is under way."""

    @property
    def busy(self) -> bool:
        return self._task is not None

    @property
    def at_rest(self) -> bool:
        """Nothing is held or open, and nothing is under way."""
        return self.local.phase is Phase.IDLE and self._task is None

    @property
    def holding(self) -> bool:
        """Whether this range may be acting, or be named in a record by a claim whose answer has not come."""
        return self._claiming or self._dropping or self.local.phase in (Phase.OWNED, Phase.DRAINED)

    @property
    def outdated(self) -> bool:
        """Whether its views would be opened otherwise now: feature gates were switched."""
        return self.shard is not None and self.shard.outdated

    def status(self) -> dict[str, Any]:
        return {
            "phase": self.local.phase.value,
            "open": self.shard is not None and self.shard.open,
            "epoch": self.local.epoch,
            **(self.shard.load() if self.shard is not None else {}),
        }

    # -- for the member record --------------------------------------------------------------------------------------

    @property
    def told_of(self) -> OwnedShard | None:
        """The shard; None while the range is not this member's to tell of. What is drained is not worked on any more:
        its release may have landed, and the next owner may tell of it by now."""
        return self.shard if self.holding and self.local.phase is not Phase.DRAINED else None

    def load(self) -> ShardLoad | None:
        return shard_load(self.told_of) if self.told_of is not None else None

    def split_point(self) -> SplitPoint | None:
        """Where it could be split."""
        return split_point(self.told_of) if self.told_of is not None else None

    def failing(self, most: int) -> list[FailingKey]:
        """Keys that keep failing here."""
        return self.told_of.failing(most) if self.told_of is not None else []

    def waiting(self, most: int) -> list[WaitingKey]:
        """Keys that wait for long here."""
        return self.told_of.waiting(most) if self.told_of is not None else []

    def figures(self) -> list[Figures]:
        """How its controllers fare here."""
        return self.told_of.figures() if self.told_of is not None else []
