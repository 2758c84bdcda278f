"""Indexes over the objects of a store: by namespace, by label, and by whatever an author's function says.

What an object is found under is kept with it, so that what is taken out of an index is exactly what was put in, even
where a function would say something else today.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from shards.errors import ConfigError
from shards.objects import Meta
from shards.stores.hooks import FAILED, NO_HOOK_METERS, Clock, Hook, HookMeters
from shards.stores.kept import Kept
from shards.stores.postings import Postings

MOST_VALUES = 1_000
"""Values of one object in one index; more are a mistake, and would make the index larger than the objects."""

NAMESPACE_INDEX = "namespace"

IndexFunction = Callable[[Any], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Index:
    """One index. function: from an object to the values that it is found under, none, one or several.

    of: what the function is given. Meta: the metadata. dict: the whole object. A msgspec.Struct: the fields of it that
    are wanted, decoded at a fraction of the price. After the transform, if there is one.
    """

    name: str
    function: IndexFunction
    of: type[Any] = Meta

    @classmethod
    def namespace(cls) -> Index:
        """By namespace."""
        return cls(NAMESPACE_INDEX, _namespace)

    @classmethod
    def label(cls, key: str) -> Index:
        """By the value of one label; objects without it are not found."""
        return cls(label_index(key), _Label(key))


def _namespace(meta: Meta) -> tuple[str, ...]:
    return (meta.namespace,)


@dataclass(frozen=True, slots=True)
class _Label:
    """A function that equals another of the same label, so that two declarations of one index are one."""

    key: str

    def __call__(self, meta: Meta) -> tuple[str, ...]:
        labels = meta.labels
        return (labels[self.key],) if labels is not None and self.key in labels else ()


def label_index(key: str) -> str:
    """Name of the index of a label."""
    return f"label {key}"


class Indexer:
    """Works out what an object is found under. Raises ConfigError for two indexes of one name."""

    __slots__ = ("_decoders", "_known", "hooks", "names")

    def __init__(
        self, indexes: Sequence[Index], clock: Clock | None = None, meters: HookMeters = NO_HOOK_METERS
    ) -> None:
        self.names = tuple(index.name for index in indexes)
        if len(set(self.names)) != len(self.names):
            raise ConfigError("indexes", f"give each a name of its own: {', '.join(self.names)}")
        self.hooks = tuple(Hook(f"index {index.name!r}", index.function, clock, meters) for index in indexes)
        self._decoders = tuple(None if index.of is Meta else msgspec.json.Decoder(index.of) for index in indexes)
        self._known: dict[tuple[tuple[str, ...] | None, ...], tuple[tuple[str, ...] | None, ...]] = {}

    def values(self, meta: Meta, raw: bytes) -> tuple[tuple[str, ...] | None, ...]:
        """Per index, in order. None: not known, its function failed. Never raises."""
        pairs = zip(self.hooks, self._decoders, strict=True)
        found = tuple(_values(hook, decoder, meta, raw) for hook, decoder in pairs)
        known = self._known.get(found)
        if known is None and len(self._known) < MOST_VALUES:
            self._known[found] = known = found
        return found if known is None else known


def _values(hook: Hook, decoder: msgspec.json.Decoder[Any] | None, meta: Meta, raw: bytes) -> tuple[str, ...] | None:
    of = f"{meta.namespace}/{meta.name}"
    try:
        argument = meta if decoder is None else decoder.decode(raw)
    except (msgspec.MsgspecError, RecursionError) as error:
        hook.failed(of, error)
        return None
    found = hook.run(argument, of, _checked)
    return None if found is FAILED else found


def _checked(result: Iterable[str]) -> tuple[str, ...]:
    """Raises TypeError and ValueError for what cannot be values of an index, and what a generator raises."""
    if isinstance(result, str | bytes):
        raise TypeError(f"an index function returns a list of values, not {result!r}")
    listed = list(islice(result, MOST_VALUES + 1))
    if len(listed) > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES} values")
    values = tuple(dict.fromkeys(listed))
    if not all(isinstance(value, str) for value in values):
        raise TypeError("the values of an index are strings")
    return values


class Indexes:
    """The indexes of one state of a store. unknown: per index, the keys of objects whose function failed."""

    __slots__ = ("_postings", "names", "unknown")

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self.names = names
        self._postings = tuple(Postings() for _ in names)
        self.unknown: tuple[dict[str, None], ...] = tuple({} for _ in names)

    def link(self, key: str, kept: Kept) -> None:
        for postings, unknown, values in zip(self._postings, self.unknown, kept.indexed, strict=True):
            if values is None:
                unknown[key] = None
            for value in values or ():
                postings.add(value, key)

    def unlink(self, key: str, kept: Kept) -> None:
        for postings, unknown, values in zip(self._postings, self.unknown, kept.indexed, strict=True):
            if values is None:
                unknown.pop(key, None)
            for value in values or ():
                postings.discard(value, key)

    def find(self, name: str, value: str) -> tuple[tuple[str, ...], Iterator[str]]:
        """Keys found under the value, and those that might be. Raises ConfigError for an index that is not there."""
        position = self.position(name)
        return self._postings[position].get(value), iter(self.unknown[position])

    def position(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            declared = ", ".join(map(repr, self.names)) or "none"
            raise ConfigError(name, f"no such index; declared are: {declared}") from None
