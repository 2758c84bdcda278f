"""What strikes do to the stack: in the words of its processes, its network, its front ends, and its server's faults."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Literal

from chaos.simulation.stack.cast import Cast
from chaos.simulation.stack.hands import Hands
from chaos.simulation.stack.network import Network
from chaos.simulation.stage import EditHow
from chaos.simulation.strikes import Record
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.match import Verb
from fleet.devcluster.faults.replicas import Staleness
from fleet.devcluster.faults.words import HideEvents, LateLanding, LostAck, Reset, TruncateList, Word

WRITES: tuple[Verb, ...] = ("create", "update", "patch", "delete", "deletecollection")

UNDER_WAY_SECONDS = 5.0
"""After the healing, all answers of before have come."""

CONFIG = """fleet: web
controller: websites:app
shards: {count: %d}
rebalance: {churnPerRound: 1.0, cooldownSeconds: 1.0}
"""


class StackStage:
    """Implements `chaos.simulation.stage.Stage`. spawn: runs what hands do. lived: is told of pauses."""

    def __init__(
        self,
        cast: Cast,
        network: Network,
        hands: Hands,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        lived: Callable[[str, Literal["paused", "resumed"]], None],
        restore: Callable[[float], bool],
    ) -> None:
        self._cast = cast
        self._network = network
        self._hands = hands
        self._spawn = spawn
        self._lived = lived
        self._restore = restore
        self._armed: list[Injection] = []
        self._stale: dict[int, Staleness] = {}
        self._blinded: set[str] = set()
        """Whose views may lack what nothing will show them."""

    @property
    def hits(self) -> Counter[str]:
        return self._network.hits

    # -- processes -----------------------------------------------------------------------------------------------------

    def start(self, process: str, *, reaped: bool) -> None:
        self._cast.start(process, reaped=reaped)

    def crash(self, process: str, crashed: Callable[[], None], *, after_write: bool) -> None:
        def now() -> None:
            if self._cast.crash(process):
                self.hits["crash"] += 1
                crashed()

        if after_write and process in self._cast.players:
            self._network.link(process).crash_after_write = now
        else:
            now()

    def leave(self, process: str, left: Callable[[], None]) -> None:
        self.hits["leave"] += process in self._cast.players
        self._cast.leave(process, left)

    def pause(self, process: str) -> None:
        player = self._cast.players.get(process)
        if player is not None and not player.process.paused:
            self.hits["pause"] += 1
            player.process.pause()
            self._lived(player.process.label, "paused")

    def resume(self, process: str) -> None:
        player = self._cast.players.get(process)
        if player is not None and player.process.paused:
            player.process.resume()
            self._lived(player.process.label, "resumed")

    def run_at(self, process: str, rate: float) -> None:
        self._cast.rates[process] = rate
        player = self._cast.players.get(process)
        if player is not None:
            self.hits["clock-rate"] += rate != 1.0
            player.process.run_at(rate)

    # -- the way to the server -----------------------------------------------------------------------------------------

    def wire(self, process: str, *, to_server: bool, to_client: bool, latency_seconds: float) -> None:
        link = self._network.link(process)
        link.to_server, link.to_client, link.latency_seconds = to_server, to_client, latency_seconds
        self.hits["slow"] += latency_seconds > 0
        link.moved()

    def lose_answers(self, process: str, times: int) -> None:
        self._arm(LostAck(match=Match(member=process, verbs=WRITES), times=times))

    def lose_requests(self, process: str, times: int) -> None:
        self._arm(Reset(match=Match(member=process, verbs=WRITES), times=times))

    def land_late(self, process: str, late_seconds: float, times: int) -> None:
        self._arm(LateLanding(match=Match(member=process, verbs=WRITES), times=times, seconds=late_seconds))

    def brown_out(self, on: bool) -> None:
        self.hits["brown-out"] += on
        self._network.brown = on
        self._network.moved()

    def refuse(self, process: str, *, shard_writes: bool, object_lists: bool) -> None:
        raise NotImplementedError("the stack has no useless members: see strikes.ONLY_AT_PROTOCOL")

    # -- what is read --------------------------------------------------------------------------------------------------

    def lag(self, replica: int, seconds: float | None) -> None:
        if not 0 <= replica < len(self._network.servers):
            return
        before = self._stale.pop(replica, None)
        if before is not None:
            before.end()
        if seconds is None or seconds > 0:
            self.hits["stale-replica"] += 1
            cache = self._network.servers[replica].cache
            self._stale[replica] = cache.stale(lag_seconds=seconds or 0.0, frozen=seconds is None)

    def silence(self, process: str, on: bool) -> None:
        link = self._network.link(process)
        link.silent = on
        link.moved()

    def cut_watches(self, process: str, *, gone: bool) -> None:
        self.hits["cut-watch"] += self._network.cut(process, gone=gone) > 0

    def drop_events(self, process: str, times: int) -> None:
        self._blinded.add(process)
        self._arm(HideEvents(match=Match(member=process), times=times))

    def truncate_lists(self, process: str, times: int) -> None:
        self._blinded.add(process)
        self._arm(TruncateList(match=Match(member=process, verbs=("list",)), times=times, keep=1))

    def _arm(self, word: Word) -> None:
        self._armed.append(self._network.faults.inject(word))

    # -- hands ---------------------------------------------------------------------------------------------------------

    def delete(self, record: Record, index: int) -> None:
        found = self._hands.find(record, index)
        if found is not None:
            self.hits["delete"] += 1
            self._spawn(self._hands.delete(record, found))

    def steal(self, record: Literal["member", "shard", "coordinator"], index: int, holder: str) -> None:
        found = self._hands.find(record, index)
        if found is not None:
            self.hits["steal"] += 1
            self._spawn(self._hands.steal(found, holder))

    def edit(self, record: Record, index: int, how: EditHow) -> None:
        async def edit() -> None:
            found = self._hands.find(record, index)
            if found is not None:
                self.hits["edit"] += await self._hands.edit(record, found, how)

        self._spawn(edit())

    def restore(self, back_seconds: float) -> None:
        self.hits["restore"] += self._restore(back_seconds)

    def reshard(self, shards: int) -> None:
        self.hits["reshard"] += 1
        self._spawn(self._hands.reshard(CONFIG % shards))

    # -- the end -------------------------------------------------------------------------------------------------------

    def disarm(self) -> None:
        for each in self._armed:
            each.release()
        self._armed.clear()
        for name in sorted({*self._cast.players, *self._blinded}):
            self._network.link(name).crash_after_write = None
        if self._blinded:
            self._spawn(self._audit(sorted(self._blinded)))
            self._blinded.clear()

    async def _audit(self, blinded: list[str]) -> None:
        """What no watch will show, the audit of a view finds hours later: here it comes now, and once more for lists
        that were under way, whose watches are opened only then."""
        for seconds in (0.0, UNDER_WAY_SECONDS):
            await asyncio.sleep(seconds)
            for name in blinded:
                self._network.cut(name, gone=True)
