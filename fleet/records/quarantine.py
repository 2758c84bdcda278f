"""Keys that were in flight when a worker died, and how often: the text of the fleet's `quarantine` document. Pure.

    {"keys": [{"controller": "websites", "namespace": "team-a", "name": "shop", "uid": "4a1c...", "deaths": 3,
               "since": 1764500000, "last": 1764500012, "ended": "SIGSEGV", "words": "", "worker": "web-3-0",
               "generation": 4, "revisions": ["web-7c9f"], "counted": ["6e0f....worker-0#7"]}]}

A key with `shards.queue.suspects.DEATHS` deaths is not reconciled; one with fewer is a suspect until a run of it ends.
Workers write it, and people may edit it. Fields that this program does not know are kept by whoever writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from shards.objects import Key
from shards.queue.suspects import DEATHS, Suspect

MOST_KEYS = 500
"""Of one document, which a ConfigMap bounds to 1 MiB, and which every worker follows. When it is full, suspects make
room, the oldest first; keys that are quarantined never do. Those that find no room are not counted."""

FORGOTTEN_SECONDS = 24 * 3600
"""A suspect that nobody has run since its last death is one that nobody looks after any more."""

LONGEST_WORDS = 200
_MOST_REVISIONS = 8
_MOST_COUNTED = 4


class QuarantineUnreadable(ValueError):
    """The text says nothing that could be followed. The message names the field, and what would be right."""


@dataclass(frozen=True, slots=True)
class QuarantineEntry:
    """since, last: of its first and its last death, in seconds since 1970. ended: how the worker ended last. words: its
    last ones. worker: its member's name. generation: of the object's spec when it ran last, 0 where unknown.
    revisions: of the fleet, that it was tried with. counted: names of the deaths that were counted last, so that one
    whose answer was lost is not counted again. other: what else is written there."""

    controller: str
    key: Key
    deaths: int = 0
    since: int = 0
    last: int = 0
    ended: str = ""
    words: str = ""
    worker: str = ""
    generation: int = 0
    revisions: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    other: Mapping[str, Any] = field(default_factory=dict)

    @property
    def suspect(self) -> Suspect:
        return self.controller, self.key

    @property
    def quarantined(self) -> bool:
        return self.deaths >= DEATHS


@dataclass(frozen=True, slots=True)
class Quarantine:
    """other: fields of the document that are not known here."""

    entries: Mapping[Suspect, QuarantineEntry] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)

    @property
    def deaths(self) -> dict[Suspect, int]:
        return {suspect: entry.deaths for suspect, entry in self.entries.items()}

    def died(self, seen: QuarantineEntry) -> Quarantine:
        """One more death of a key, as `seen` tells of it."""
        known = self.entries.get(seen.suspect)
        if known is not None and set(seen.counted) & set(known.counted):
            return self
        deaths = 1 if known is None else known.deaths + 1
        revisions = known.revisions if known is not None else ()
        # The newest last. Those that are forgotten are tried once more, should they come back.
        revisions = (*(each for each in revisions if each not in seen.revisions), *seen.revisions)[-_MOST_REVISIONS:]
        since = seen.last if known is None else known.since
        other, counted = ({}, ()) if known is None else (known.other, known.counted)
        counted = (*counted, *seen.counted)[-_MOST_COUNTED:]
        entry = replace(seen, deaths=deaths, since=since, revisions=revisions, counted=counted, other=other)
        return self._with(entry)

    def cleared(self, suspect: Suspect, deaths: int) -> Quarantine:
        """A run of the key has ended, which had that many deaths when it began. One that has died since has not."""
        known = self.entries.get(suspect)
        return self if known is None or known.deaths > deaths else self.without(suspect)

    def without(self, suspect: Suspect) -> Quarantine:
        if suspect not in self.entries:
            return self
        return replace(self, entries={each: entry for each, entry in self.entries.items() if each != suspect})

    def tried_again(self, suspect: Suspect, *, generation: int | None = None, revision: str = "") -> Quarantine:
        """The key runs again, alone, and one more death puts it back. generation, revision: what it is tried with."""
        known = self.entries.get(suspect)
        if known is None or not known.quarantined:
            return self
        revisions = (*known.revisions, revision) if revision and revision not in known.revisions else known.revisions
        generation = known.generation if generation is None else generation
        return self._with(
            replace(known, deaths=DEATHS - 1, generation=generation, revisions=revisions[-_MOST_REVISIONS:])
        )

    def bounded(self, now: int) -> Quarantine:
        """As much of it as is kept. now: seconds since 1970."""
        kept = [each for each in self.entries.values() if each.quarantined or now - each.last < FORGOTTEN_SECONDS]
        if len(kept) > MOST_KEYS:
            kept.sort(key=lambda each: (not each.quarantined, each.since if each.quarantined else -each.last))
        if len(kept) == len(self.entries) <= MOST_KEYS:
            return self
        return replace(self, entries={each.suspect: each for each in kept[:MOST_KEYS]})

    def _with(self, entry: QuarantineEntry) -> Quarantine:
        return replace(self, entries={**self.entries, entry.suspect: entry})


_TEXTS = ("controller", "namespace", "name", "uid", "ended", "words", "worker")
_NUMBERS = ("deaths", "since", "last", "generation")
_LISTS = ("revisions", "counted")


def parse_quarantine(text: str) -> Quarantine:
    """An empty text holds no key. Raises QuarantineUnreadable."""
    if not text.strip():
        return Quarantine()
    try:
        body = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise QuarantineUnreadable(f"it is not a JSON object: {error}") from error
    keys = body.pop("keys", None)
    keys = [] if keys is None else keys
    if not isinstance(keys, list):
        raise QuarantineUnreadable("keys: write a list of objects")
    entries = [_entry(f"keys[{index}]", each) for index, each in enumerate(keys)]
    return Quarantine({each.suspect: each for each in entries}, body)


def quarantine_text(quarantine: Quarantine) -> str:
    """What `parse_quarantine` reads, indented for people."""
    keys = [_written(each) for each in _sorted(quarantine.entries.values())]
    return msgspec.json.format(msgspec.json.encode({**quarantine.other, "keys": keys}), indent=1).decode()


def _sorted(entries: Iterable[QuarantineEntry]) -> list[QuarantineEntry]:
    return sorted(entries, key=lambda each: (each.controller, each.key))


def _entry(path: str, found: Any) -> QuarantineEntry:
    if not isinstance(found, dict):
        raise QuarantineUnreadable(f"{path}: write an object with controller, namespace, name, uid and deaths")
    rest = dict(found)
    texts = {name: rest.pop(name, "") for name in _TEXTS}
    numbers = {name: rest.pop(name, 0) for name in _NUMBERS}
    lists = {name: rest.pop(name, []) for name in _LISTS}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise QuarantineUnreadable(f"{path}.{name}: write a text in quotes")
    for name, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise QuarantineUnreadable(f"{path}.{name}: write a whole number, at least 0")
    for name, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise QuarantineUnreadable(f"{path}.{name}: write a list of texts")
    key = Key(texts.pop("namespace"), texts.pop("name"), texts.pop("uid"))
    told, counted = (tuple(lists[name]) for name in _LISTS)
    return QuarantineEntry(key=key, **texts, **numbers, revisions=told, counted=counted, other=rest)


def _written(entry: QuarantineEntry) -> dict[str, Any]:
    return {
        **entry.other,
        "controller": entry.controller,
        "namespace": entry.key.namespace,
        "name": entry.key.name,
        "uid": entry.key.uid,
        "deaths": entry.deaths,
        "since": entry.since,
        "last": entry.last,
        "ended": entry.ended,
        "words": entry.words[:LONGEST_WORDS],
        "worker": entry.worker,
        "generation": entry.generation,
        "revisions": list(entry.revisions),
        "counted": list(entry.counted),
    }
