"""How far an owner's view had come when it let go of a shard: what the next owner must have seen before it acts.

Design 4.2. A watermark never outlives its release: claim, retire and activate delete it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Unseen:
    """A write of the old owner that its own view had not shown when it let go.

    deleted: it was a deletion; its final version is not known, so absence from a view at the mark satisfies it.
    """

    resource: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class ResourceMark:
    """The mark of one resource.

    digest: of resource, filter and routing; a view with another digest cannot be compared and lists instead.
    resource_version: the highest version of an object in the range that the old owner received or wrote; "" = none.
    """

    digest: str
    resource_version: str
    unseen: tuple[Unseen, ...] = ()


@dataclass(frozen=True, slots=True)
class Watermark:
    """Left by a release. epoch: the shard epoch under which it was taken. marks: by str(Resource)."""

    epoch: int
    marks: Mapping[str, ResourceMark] = field(default_factory=dict)
