"""Rows of keys that get nowhere: that keep failing, wait for long, or end workers. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

from fleet.records.quarantine import QuarantineEntry
from fleet.records.record import MemberRecord
from fleet.records.report_record import FailingRecord, WaitingRecord
from fleet.status.status_rows import FailingRow, QuarantineRow, ShardRow, WaitingRow

R = TypeVar("R", FailingRecord, WaitingRecord)

Members = Mapping[str, MemberRecord]


def failing_rows(members: Members, rows: Iterable[ShardRow], at: float | None) -> tuple[FailingRow, ...]:
    """What owners report, the longest first. at: when it was read, in seconds since 1970."""
    return tuple(
        FailingRow(
            controller=each.controller,
            key=each.key,
            shard=each.range,
            member=name,
            since=_moment(each.since),
            count=each.count,
            error=each.error,
            terminal=each.terminal,
            for_seconds=_seconds_since(each.since, at),
        )
        for each, name in _reported(members, rows, lambda member: member.failing)
    )


def waiting_rows(members: Members, rows: Iterable[ShardRow], at: float | None) -> tuple[WaitingRow, ...]:
    """The same of keys that wait for long."""
    return tuple(
        WaitingRow(
            controller=each.controller,
            key=each.key,
            shard=each.range,
            member=name,
            since=_moment(each.since),
            times=each.times,
            waits_for=each.waits_for,
            why=each.why,
            for_seconds=_seconds_since(each.since, at),
        )
        for each, name in _reported(members, rows, lambda member: member.waiting)
    )


def quarantine_rows(entries: Iterable[QuarantineEntry]) -> tuple[QuarantineRow, ...]:
    """Those with the most deaths first."""
    return tuple(
        QuarantineRow(
            controller=each.controller,
            key=str(each.key),
            uid=each.key.uid,
            quarantined=each.quarantined,
            deaths=each.deaths,
            since=_moment(each.since),
            last=_moment(each.last),
            ended=each.ended,
            words=each.words,
            worker=each.worker,
            generation=each.generation,
        )
        for each in sorted(entries, key=lambda each: (-each.deaths, each.since, each.controller, each.key))
    )


def _reported(
    members: Members, rows: Iterable[ShardRow], records: Callable[[MemberRecord], Iterable[R]]
) -> list[tuple[R, str]]:
    """What owners report of what they own, the longest first, with their names.

    Another's word, or one from before, says nothing about who acts now.
    """
    owners = {row.range: row.owner for row in rows if row.owner}
    found = [
        (each, member.name)
        for member in members.values()
        for each in records(member)
        if owners.get(each.range) == member.name
    ]
    return sorted(found, key=lambda pair: (pair[0].since, pair[0].controller, pair[0].key))


def _moment(seconds: int) -> str:
    """RFC 3339; "" for what is no time of this calendar: somebody edited the record."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""


def _seconds_since(moment: int, at: float | None) -> float | None:
    return None if at is None or not _moment(moment) else max(0.0, round(at - moment))
