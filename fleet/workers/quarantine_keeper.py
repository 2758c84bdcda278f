"""What one worker does about the fleet's quarantine: counts its predecessors' deaths, follows what others counted, and
clears keys whose runs have ended.

A worker that has just been started knows what was in flight when its predecessor died. It counts that before it joins,
so that the count is there whoever owns the keys next. What cannot be written is kept, and holds for this worker.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from fleet.backends.quarantine_document import Changed, change_quarantine, readable
from fleet.health.telemetry import Telemetry
from fleet.processes.flights import Death
from fleet.records.coordination import Coordination, CoordinationUnavailable
from fleet.records.quarantine import MOST_KEYS, Quarantine, QuarantineEntry
from fleet.records.record import Document, DocumentName
from fleet.workers.owned_shard import OwnedShard
from shards.errors import ApiError, ConfigError, ServerTimeout, TooManyRequests, Unauthorized
from shards.keyrange import KeyRange, PartitionKey, key_hash
from shards.queue.suspects import DEATHS, Suspect, Suspects

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.2
"""How often the document that is followed is compared with the last one, and what is to be written is written."""
SWEEP_SECONDS = 1.0
"""How often the objects of the keys are looked at."""
RETRY_SECONDS = (1.0, 60.0)
"""Between attempts to write, first and longest: it doubles."""
PATIENCE_SECONDS = 15.0
"""How long a worker that has not begun waits for a server that answers, but with errors: one that refuses documents
(a quota, an admission webhook, rights) may let it join all the same."""


def _answered(error: CoordinationUnavailable) -> bool:
    """Whether the server is there."""
    return isinstance(error.__cause__, ApiError)


def _refused(error: CoordinationUnavailable) -> bool:
    """Whether the server has said no, and would say it again."""
    cause = error.__cause__
    passing = isinstance(cause, Unauthorized | TooManyRequests | ServerTimeout)
    return isinstance(cause, ApiError) and 400 <= cause.status < 500 and not passing


@dataclass(frozen=True, slots=True)
class KeeperSettings:
    """member: of this worker. revision: of the fleet, "" where unknown."""

    member: str
    revision: str


class QuarantineKeeper:
    """`begin` before the worker joins, `run` as long as it lives.

    document: what the worker's view holds now. shards: those that are open here. counted: told when the deaths of the
    predecessors are written.
    """

    def __init__(
        self,
        coordination: Coordination,
        suspects: Suspects,
        settings: KeeperSettings,
        *,
        deaths: Sequence[Death],
        counted: Callable[[], None],
        document: Callable[[], Document | None],
        shards: Callable[[], Iterable[tuple[KeyRange, OwnedShard]]],
        telemetry: Telemetry,
        today: Callable[[], float],
    ) -> None:
        """today: seconds since 1970."""
        self._coordination = coordination
        self._suspects = suspects
        self._settings = settings
        self._uncounted = tuple(deaths)
        self._counted = counted
        self._document = document
        self._shards = shards
        self._telemetry = telemetry
        self._today = today
        self._known = Quarantine()
        self._version = ""
        self._cleared: dict[Suspect, int] = {}
        """Suspects whose runs have ended here, with the deaths that they had. Written later."""
        self._hashes: dict[tuple[Suspect, PartitionKey], int] = {}
        self._failures = 0
        self._write_at = 0.0
        suspects.survived = self._survived

    async def begin(self, stop: asyncio.Event) -> None:
        """Returns once it is known who is quarantined, and the deaths of the predecessors are counted, or when told to
        stop: until then no key may run. Where the server refuses the document, the worker does without: what it knows
        holds here."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not stop.is_set():
            try:
                await self._write()
                return
            except CoordinationUnavailable as error:
                if not _refused(error) and (loop.time() - began < PATIENCE_SECONDS or not _answered(error)):
                    log.warning("the quarantine is not known yet: %s", error)
                    await asyncio.sleep(RETRY_SECONDS[0])
                    continue
                log.error("the quarantine is not written: %s", error)
            except ConfigError as error:
                log.error("the quarantine is not followed: %s", error)
            except Exception:  # whatever it is, a worker that does not begin helps nobody
                log.exception("the quarantine is not followed")
            await self._do_without()
            return

    async def _do_without(self) -> None:
        """What can be read holds, and what is known here; it is written when that is possible again."""
        self._put_off()
        found: Document | None = None
        with suppress(CoordinationUnavailable, ConfigError):
            found = await self._coordination.read_document(DocumentName.QUARANTINE)
        self._know(readable(found, self._known))

    async def run(self) -> None:
        """Until cancelled."""
        sweep_at = 0.0
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                self._follow(self._document())
                if loop.time() < self._write_at:
                    continue
                swept = loop.time() >= sweep_at and self._sweep()
                if loop.time() >= sweep_at:
                    sweep_at = loop.time() + SWEEP_SECONDS
                if swept or self._cleared or self._uncounted:
                    await self._write()
            except (CoordinationUnavailable, ConfigError) as error:
                log.warning("the quarantine is not written, next try in %g s: %s", self._put_off(), error)
            except Exception:  # whatever it is, keys must not wait for it
                log.exception("the quarantine")
                self._put_off()

    def _put_off(self) -> float:
        """Nothing is written before so many seconds. What others wrote is followed all the while."""
        first, longest = RETRY_SECONDS
        seconds = min(first * 2.0 ** min(self._failures, 10), longest)
        self._failures += 1
        self._write_at = asyncio.get_running_loop().time() + seconds
        return seconds

    # -- what is known -----------------------------------------------------------------------------------------------

    def _follow(self, document: Document | None) -> None:
        version = document.version if document is not None else ""
        if version != self._version:
            self._version = version
            self._know(readable(document, self._known))

    def _know(self, quarantine: Quarantine) -> None:
        self._known = quarantine
        self._suspects.follow(self._here(quarantine).deaths)

    def _here(self, quarantine: Quarantine) -> Quarantine:
        """With what this worker knows, and the document does not yet."""
        for suspect, deaths in self._cleared.items():
            quarantine = quarantine.cleared(suspect, deaths)
        return self._with_deaths(quarantine)

    def _survived(self, suspect: Suspect) -> None:
        entry = self._known.entries.get(suspect)
        if entry is not None:
            self._cleared[suspect] = entry.deaths
            log.info("%s %s ran to an end: it did not end the worker", *suspect)

    def _with_deaths(self, quarantine: Quarantine) -> Quarantine:
        for death in self._uncounted:
            for flight in death.flights:
                quarantine = quarantine.died(
                    QuarantineEntry(
                        flight.controller,
                        flight.key,
                        last=round(death.at),
                        ended=death.ended,
                        words=death.words,
                        worker=self._settings.member,
                        generation=flight.generation,
                        revisions=(self._settings.revision,) if self._settings.revision else (),
                        counted=(death.name,),
                    )
                )
        return quarantine

    # -- what is written ---------------------------------------------------------------------------------------------

    async def _write(self) -> None:
        uncounted, cleared = self._uncounted, dict(self._cleared)
        changed = await change_quarantine(self._coordination, self._changed, self._known)
        self._failures = 0
        self._uncounted = ()
        self._cleared = {suspect: deaths for suspect, deaths in self._cleared.items() if suspect not in cleared}
        if uncounted:
            self._counted()
        self._know(changed.after)
        self._tell(changed, uncounted)

    def _changed(self, quarantine: Quarantine) -> Quarantine:
        for suspect, again in self._found(quarantine).items():
            if again is None:
                quarantine = quarantine.without(suspect)
            else:
                quarantine = quarantine.tried_again(suspect, generation=again, revision=self._settings.revision)
        return self._here(quarantine).bounded(round(self._today()))

    def _sweep(self) -> bool:
        """Whether there is something to be written about an object."""
        return bool(self._suspects.deaths) and bool(self._found(self._known))

    def _found(self, quarantine: Quarantine) -> dict[Suspect, int | None]:
        """Keys of open shards whose objects are gone (None), or that are to be tried again, with their generation."""
        found: dict[Suspect, int | None] = {}
        shards = list(self._shards()) if quarantine.entries else []
        for suspect, entry in quarantine.entries.items():
            shard = next((shard for each, shard in shards if self._hash(suspect, each.key) in each), None)
            if shard is None:
                continue
            generation = shard.generation_of(*suspect)
            if generation is None:
                found[suspect] = None
            elif entry.quarantined and self._is_new(entry, generation):
                found[suspect] = generation
        self._hashes = {known: each for known, each in self._hashes.items() if known[0] in quarantine.entries}
        return found

    def _hash(self, suspect: Suspect, partition_key: PartitionKey) -> int:
        known = (suspect, partition_key)
        if known not in self._hashes:
            key = suspect[1]
            self._hashes[known] = key_hash(partition_key, key.namespace, key.name, key.uid)
        return self._hashes[known]

    def _is_new(self, entry: QuarantineEntry, generation: int) -> bool:
        """Whether its spec was changed since it ran last, or a revision of the fleet has not tried it yet."""
        revision = self._settings.revision
        return 0 < entry.generation < generation or bool(revision and revision not in entry.revisions)

    # -- what is told ------------------------------------------------------------------------------------------------

    def _tell(self, changed: Changed, deaths: Sequence[Death]) -> None:
        flights = Counter((flight.controller, flight.key) for death in deaths for flight in death.flights)
        for suspect, count in flights.items():
            entry = changed.after.entries.get(suspect)
            if entry is None:
                log.error("%s %s is not counted: %d keys are under suspicion already", *suspect, MOST_KEYS)
            elif entry.quarantined and entry.deaths - count < DEATHS:
                log.warning(
                    "%s %s is quarantined: it was in flight when workers ended, %d times, last by %s%s",
                    *suspect,
                    entry.deaths,
                    entry.ended,
                    f" ({entry.words})" if entry.words else "",
                )
                self._telemetry.key_quarantined(entry)
            else:
                log.warning("%s %s was in flight when a worker ended (%s)", *suspect, entry.ended)
        for suspect in changed.before.entries.keys() - flights.keys():
            before, after = changed.before.entries[suspect], changed.after.entries.get(suspect)
            if before.quarantined and (after is None or not after.quarantined):
                why = "its object is gone" if after is None else "it or the fleet was changed, and it is tried once"
                log.info("%s %s leaves the quarantine: %s", *suspect, why)
                self._telemetry.key_released(before, why)
