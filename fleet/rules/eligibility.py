"""Which members may be given ranges, and which of them will stay longest. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

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


def newest_revision(members: Iterable[MemberRecord]) -> str | None:
    """The revision that the other pods are being replaced by; None where there is one only, or nobody can tell.

    A StatefulSet replaces its pods from the highest ordinal downwards, so while there are several revisions, that of
    the highest ordinal is the newest. Pods that are not numbered under one name have no order.
    """
    revisions: dict[int, str] = {}
    bases = set()
    for member in members:
        match = _ORDINAL.fullmatch(member.pod)
        if match is None or not member.revision:
            return None
        bases.add(match[1])
        revisions[int(match[2])] = member.revision
    if len(bases) != 1 or len(set(revisions.values())) < 2:
        return None
    return revisions[max(revisions)]


def preferred(members: Mapping[str, MemberRecord], able: Iterable[str]) -> frozenset[str]:
    """Those of the able members whose pods are not about to be replaced; empty where all are alike."""
    candidates = [members[name] for name in able if name in members]
    newest = newest_revision(candidates)
    return frozenset(each.name for each in candidates if each.revision == newest) if newest is not None else frozenset()
