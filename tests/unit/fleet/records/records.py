"""Records for tests, and hypothesis strategies that draw any of them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from fleet.records.filter_record import FilterRecord
from fleet.records.record import (
    MAX_WEIGHT,
    MIN_WEIGHT,
    CoordinatorRecord,
    Holder,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
    Share,
    Standby,
)
from fleet.records.report_record import (
    FailingRecord,
    PartRecord,
    RolloutRecord,
    ShardLoad,
    SplitPoint,
    WaitingRecord,
)
from shards.gates.watermark import ResourceMark, Unseen, Watermark
from shards.keyrange import SPACE, WHOLE, KeyRange, PartitionKey, equal_boundaries

FLEET = "web"

member_names = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,10}[a-z0-9])?-[0-9]", fullmatch=True).filter(
    lambda name: ".." not in name and ".-" not in name and "-." not in name
)
texts = st.text(max_size=12)
counts = st.integers(0, 2**31 - 1)
versions = st.integers(1, 2**70).map(str)
figures = st.floats(0, 1e6)


@st.composite
def ranges(draw: st.DrawFn) -> KeyRange:
    first, last = sorted((draw(st.integers(0, SPACE - 1)), draw(st.integers(0, SPACE - 1))))
    return KeyRange(first, last)


holders = st.builds(Holder, member_names, counts)
incarnations = st.builds(Incarnation, st.text(min_size=1, max_size=12), counts)
shares = st.floats(0, 1)
split_points = st.builds(SplitPoint, texts, shares, texts, shares)
loads = st.builds(ShardLoad, *[counts] * 7, figures, figures, texts, st.booleans(), st.none() | split_points)
failing = st.builds(FailingRecord, texts, texts, texts, counts, counts, texts, st.booleans())
waiting = st.builds(WaitingRecord, texts, texts, texts, counts, counts, texts, texts)
parts = st.builds(PartRecord, texts, texts, *[counts] * 8, figures, figures, counts)
filters = st.builds(FilterRecord, texts, texts, counts, texts, texts, texts, counts, counts)
rollouts = st.builds(RolloutRecord, texts, st.lists(texts, max_size=2).map(tuple), st.just(()), texts)
members = st.builds(
    MemberRecord,
    name=member_names,
    holder=st.none() | incarnations,
    epoch=counts,
    lease_seconds=st.floats(0.001, 1e6),
    revision=texts,
    leaving=st.booleans(),
    pod=texts,
    pid=counts,
    seen_map=counts,
    scope=texts,
    renewals=counts,
    loads=st.dictionaries(texts, loads, max_size=3),
    failing=st.lists(failing, max_size=2).map(tuple),
    waiting=st.lists(waiting, max_size=2).map(tuple),
    parts=st.lists(parts, max_size=2).map(tuple),
    rollout=st.none() | rollouts,
    filters=st.lists(filters, max_size=2).map(tuple),
    demand=st.none() | counts,
    weight=st.floats(MIN_WEIGHT, MAX_WEIGHT),
    version=versions,
    uid=st.text(min_size=1, max_size=12),
)
unseen = st.builds(Unseen, texts, texts, texts, texts, st.just("") | versions, st.booleans())
marks = st.builds(ResourceMark, texts, st.just("") | versions, st.lists(unseen, max_size=2).map(tuple))
watermarks = st.builds(Watermark, counts, st.dictionaries(texts, marks, max_size=2))
shards = st.builds(
    ShardRecord,
    range=ranges(),
    status=st.sampled_from(ShardStatus),
    epoch=counts,
    holder=st.none() | holders,
    released=st.none() | counts,
    last_holder=st.none() | holders,
    watermark=st.none() | watermarks,
    standby=st.none() | st.builds(Standby, holders, counts),
    version=versions,
    uid=st.text(min_size=1, max_size=12),
).map(lambda record: replace(record, holder_text=str(record.holder) if record.holder else ""))
coordinators = st.builds(CoordinatorRecord, texts, counts, st.floats(0.001, 1e6), counts, versions)


@st.composite
def maps(draw: st.DrawFn) -> ShardMap:
    firsts = draw(st.sets(st.integers(1, SPACE - 1), max_size=4))
    boundaries = (0, *sorted(firsts))
    few_ranges = st.frozensets(ranges(), max_size=3)
    return ShardMap(
        version=draw(counts),
        coordinator_epoch=draw(counts),
        fleet=FLEET,
        identity=draw(texts),
        partition_key=draw(st.sampled_from(PartitionKey)),
        boundaries=boundaries,
        targets=tuple(draw(st.just("") | member_names) for _ in boundaries),
        opened=draw(few_ranges),
        retiring=draw(few_ranges),
        lost=draw(st.dictionaries(ranges(), counts, max_size=3)),
        floors=draw(st.dictionaries(member_names, counts, max_size=3)),
        shard_epochs=draw(st.dictionaries(ranges(), counts, max_size=3)),
        config_version=draw(texts),
        base_count=draw(counts),
        requests_done=draw(counts),
        config_refused=draw(texts),
        shares=draw(st.dictionaries(member_names, st.builds(Share, counts, counts, counts, counts), max_size=3)),
        moved_at=draw(counts),
        forgotten_ranges=draw(counts),
        forgotten=draw(counts),
    )


def member(name: str = "web-0-1", **changes: object) -> MemberRecord:
    """A live member."""
    record = MemberRecord(name=name, holder=Incarnation("pod-uid.nonce", 1), epoch=3, lease_seconds=8.0, pod="web-0")
    return replace(record, **changes)  # type: ignore[arg-type]  # any field may change


def shard(covered: KeyRange = WHOLE, **changes: object) -> ShardRecord:
    """An active shard that is held."""
    record = ShardRecord(
        range=covered,
        status=ShardStatus.ACTIVE,
        epoch=5,
        holder=Holder("web-0-1", 3),
        holder_text="web-0-1@3",
    )
    return replace(record, **changes)  # type: ignore[arg-type]  # any field may change


def shard_map(fleet: str = FLEET, **changes: object) -> ShardMap:
    """Two ranges, one of them assigned."""
    found = ShardMap(
        version=7,
        coordinator_epoch=2,
        fleet=fleet,
        identity="id",
        partition_key=PartitionKey.UID,
        boundaries=equal_boundaries(2),
        targets=("web-0-1", ""),
    )
    return replace(found, **changes)  # type: ignore[arg-type]  # any field may change
