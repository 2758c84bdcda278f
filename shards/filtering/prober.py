"""Asks the server what the filter ladder wants to know, when it wants to know it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from shards.api.client import Transport
from shards.errors import ShardError
from shards.filtering.ladder import FilterLadder, Rung
from shards.filtering.proofs import Answer, selector_proof, slot_proof
from shards.objects import Resource
from shards.watching.source import FilterMode, Source

log = logging.getLogger(__name__)

Place = tuple[Resource, str]
"""A collection: all of a resource ("") or one namespace's."""


@dataclass
class Target:
    """One rung to be proven. sources: unfiltered ones of all that share the resource."""

    sources: list[Source] = field(default_factory=list)

    @property
    def places(self) -> list[Place]:
        return sorted(
            {(each.resource, namespace) for each in self.sources for namespace in each.scope.namespaces or ("",)}
        )


def targets_of(sources: Iterable[Source]) -> dict[tuple[Resource, FilterMode], Target]:
    """sources: each with the best mode that its role and its key allow; those without one are left out."""
    targets: dict[tuple[Resource, FilterMode], Target] = {}
    for source in sources:
        if source.mode is not FilterMode.LOCAL:
            targets.setdefault((source.resource, source.mode), Target()).sources.append(source)
    return targets


class Prober:
    """`run` it in a task, and wait for `settled` before the first view opens.

    targets: all that views may ever stand on. first: those that are asked from the start, None for all of them; others
    are once a view would like to. stand_ins: collections of the same server that are hardly ever empty, in the order in
    which they are asked where the resource's own has no object to ask with. If it is served by another one, the first
    foreign object says so.
    """

    def __init__(
        self,
        ladder: FilterLadder,
        transport: Transport,
        targets: Mapping[tuple[Resource, FilterMode], Target],
        *,
        first: Iterable[tuple[Resource, FilterMode]] | None = None,
        stand_ins: Sequence[Place] = (),
        user_agent: str = "",
    ) -> None:
        self._ladder = ladder
        self._transport = transport
        self._targets = dict(targets)
        self._stand_ins = stand_ins
        self._user_agent = user_agent
        self._poked = asyncio.Event()
        self._settled = asyncio.Event()
        ladder.poked = self._poked.set
        for resource, mode in self._targets if first is None else first:
            ladder.rung(resource, mode)

    async def settled(self, seconds: float) -> None:
        """Returns when all that was due at the start has been asked, after so many seconds at the latest."""
        try:
            async with asyncio.timeout(seconds):
                await self._settled.wait()
        except TimeoutError:
            log.info("filters: not all are known after %g s; the others are applied here until they are", seconds)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._poked.clear()
            await asyncio.gather(*(self._ask(rung) for rung in self._ladder.due()))
            self._settled.set()
            wait = self._ladder.next_due() - self._ladder.clock()
            try:
                async with asyncio.timeout(max(wait, 0.0) if isfinite(wait) else None):
                    await self._poked.wait()
            except TimeoutError:
                pass

    async def _ask(self, rung: Rung) -> None:
        target = self._targets.get((rung.resource, rung.mode))
        try:
            answer = await self._answer(rung, target) if target is not None else Answer(None, "nobody asks for it")
        except ShardError as error:
            log.debug("filters: %s of %s could not be asked for: %s", rung.mode, rung.resource, error)
            self._ladder.failed(rung, str(error) or type(error).__name__)
        except Exception as error:  # an answer that is none must not be the last question
            log.exception("filters: %s of %s", rung.mode, rung.resource)
            self._ladder.failed(rung, f"{type(error).__name__}: {error}")
        else:
            self._ladder.answered(rung, answer.holds, answer.why)

    async def _answer(self, rung: Rung, target: Target) -> Answer:
        if rung.mode is FilterMode.SLOT_LABELS:
            found = [
                await slot_proof(self._transport, target.sources, namespace=namespace, user_agent=self._user_agent)
                for _, namespace in target.places
            ]
            return next((each for each in found if not each.holds), found[-1])
        answer = Answer(None, "there is nothing to ask with")
        refused: ShardError | None = None
        for resource, namespace in (*target.places, *self._stand_ins):
            try:
                answer = await selector_proof(
                    self._transport, resource, namespace=namespace, user_agent=self._user_agent
                )
            except ShardError as error:
                log.debug("filters: %s cannot be asked with: %s", resource, error)
                refused = error
                continue
            if answer.holds is not None:
                return answer
        if refused is not None:
            raise refused
        return answer


def say(rung: Rung) -> None:
    """One line in the log per change."""
    level = logging.INFO if rung.foreign == 0 and rung.falls == 0 else logging.WARNING
    log.log(level, "filters: %s of %s is %s: %s", rung.mode, rung.resource, rung.verdict, rung.why)
