"""One object in a store: its metadata packed small, its body compressed.

What few objects have, or few callers ask for, is rebuilt on demand: `Meta` for everybody outside, annotations from the
body. Names are the store's keys, as one string each: a tuple of two costs another 72 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from sys import intern

import msgspec

from shards.objects import Key, Meta, ObjectName, OwnerReference
from shards.stores.bodies import Body

WORDS = 8_192
"""Sets of labels, and kinds of owners, that are remembered to be shared; the rest is kept as it comes."""

Pairs = tuple[str, ...]
"""Labels as key, value, key, value: a fifth of a dict, and shared between the objects that have the same."""


NONE, SOME, PAUSED = 0, 1, 2
"""Of annotations: whether there are any, and whether they pause the object. Of these alone is it known at once."""


class Kept(Body, gc=False):
    """gc=False: it reaches nothing that reaches it back."""

    uid: str = ""
    version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: Pairs | None = None
    owners: tuple[OwnerReference, ...] | None = None
    annotated: int = 0
    """NONE, SOME, or PAUSED: with the annotation that pauses a primary among them."""
    indexed: tuple[tuple[str, ...] | None, ...] = ()
    """Per index of the store, what it is found under. None: not known, because the index's function failed."""

    @property
    def controller(self) -> str:
        """UID of the one owner that controls this object; "" without one."""
        for owner in self.owners or ():
            if owner.controller:
                return owner.uid
        return ""

    def meta(self, key: str) -> Meta:
        """As it was decoded, under the key that the store has it under."""
        namespace, _, name = key.partition("/")
        pairs = self.labels
        return Meta(
            name,
            namespace,
            self.uid,
            self.version,
            self.generation,
            self.deletion_timestamp,
            None if pairs is None else dict(zip(pairs[::2], pairs[1::2], strict=True)),
            _annotations(self.raw) if self.annotated else None,
            self.owners,
        )


class Keeper:
    """Makes them. Remembers what objects are likely to share: sets of labels, the kinds of their owners."""

    __slots__ = ("_sets", "_words")

    def __init__(self) -> None:
        self._sets: dict[Pairs, Pairs] = {}
        self._words: dict[str, str] = {}

    def keep(self, meta: Meta) -> Kept:
        """Without the body, which is for `Bodies` to put in."""
        return Kept(
            uid=meta.uid,
            version=meta.resource_version,
            generation=meta.generation,
            deletion_timestamp=meta.deletion_timestamp,
            labels=None if meta.labels is None else self._shared(meta.labels),
            owners=None if meta.owner_references is None else tuple(map(self._owner, meta.owner_references)),
            annotated=NONE if meta.annotations is None else PAUSED if meta.paused else SOME,
        )

    def _shared(self, labels: dict[str, str]) -> Pairs:
        pairs = tuple(chain.from_iterable(labels.items()))
        known = self._sets.get(pairs)
        if known is not None:
            return known
        if len(self._sets) < WORDS:
            self._sets[pairs] = pairs
        return pairs

    def _owner(self, owner: OwnerReference) -> OwnerReference:
        kind, api_version = self._word(owner.kind), self._word(owner.api_version)
        return OwnerReference(kind, owner.name, owner.uid, api_version, owner.controller)

    def _word(self, word: str) -> str:
        known = self._words.get(word)
        if known is not None:
            return known
        if len(self._words) < WORDS:
            self._words[word] = word
        return word


class LabelMatch:
    """Whether objects have all of some labels; looks at each set of labels once. For one step: it goes by identity."""

    __slots__ = ("_known", "_wanted")

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._wanted = labels.items()
        self._known: dict[int, bool] = {id(None): not labels}

    def __call__(self, kept: Kept) -> bool:
        pairs = kept.labels
        known = self._known.get(id(pairs))
        if known is None:
            held = dict(zip(pairs[::2], pairs[1::2], strict=True)) if pairs else {}
            known = self._known[id(pairs)] = self._wanted <= held.items()
        return known


def key_of(namespace: str, name: str) -> str:
    """The store's key. A namespace has no slash in it."""
    return f"{namespace}/{name}"


def name_in(key: str) -> ObjectName:
    namespace, _, name = key.partition("/")
    return ObjectName(intern(namespace), name)


def primary_in(key: str, uid: str) -> Key:
    """What queues hold of the object."""
    namespace, _, name = key.partition("/")
    return Key(namespace, name, uid)


class _Annotated(msgspec.Struct):
    annotations: dict[str, str] | None = None


class _Object(msgspec.Struct):
    metadata: _Annotated


_decode = msgspec.json.Decoder(_Object).decode


def _annotations(raw: bytes) -> dict[str, str] | None:
    try:
        return _decode(raw).metadata.annotations
    except (msgspec.MsgspecError, RecursionError):  # a transform's doing: the body is its own
        return None
