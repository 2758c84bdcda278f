"""Which members may be given ranges, and which of them will stay longest. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from fleet.records.record import MemberRecord

_ORDINAL = re.compile(r"(.*)-(\d{1,9})")


def eligible(members: Mapping[str, MemberRecord], floors: Mapping[str, int], silent: Sequence[str] = ()) -> list[str]:
    """Members that may be given ranges: held, not below their floor, not leaving, heard of lately."""
    return sorted(
        name
        for name, record in members.items()
        if record.holder is not None
        and not record.leaving
        and record.epoch >= floors.get(name, 0)
        and name not in silent
    )


@lru_cache(maxsize=4096)
def _numbered(pod: str) -> tuple[str, int] | None:
    """The name under which it is numbered, and its ordinal; None for any other pod."""
    match = _ORDINAL.fullmatch(pod)
    return (match[1], int(match[2])) if match is not None else None


def newest_revision(members: Iterable[MemberRecord]) -> str | None:
    """The revision that the other pods are being replaced by; None where there is one only, or nobody can tell.

    A StatefulSet replaces its pods from the highest ordinal downwards, so while there are several revisions, that of
    the highest ordinal is the newest. Pods that are not numbered under one name have no order.
    """
    revisions: dict[int, str] = {}
    bases = set()
    for member in members:
        numbered = _numbered(member.pod)
        if numbered is None or not member.revision:
            return None
        base, ordinal = numbered
        bases.add(base)
        revisions[ordinal] = member.revision
    if len(bases) != 1 or len(set(revisions.values())) < 2:
        return None
    return revisions[max(revisions)]


def preferred(members: Mapping[str, MemberRecord], able: Iterable[str]) -> frozenset[str]:
    """Those of the able members whose pods are not about to be replaced; empty where all are alike."""
    candidates = [members[name] for name in able if name in members]
    newest = newest_revision(candidates)
    return frozenset(each.name for each in candidates if each.revision == newest) if newest is not None else frozenset()
