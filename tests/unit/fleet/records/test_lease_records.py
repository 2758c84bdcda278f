from __future__ import annotations

import math
import re
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings

from fleet.records.coordination import ProtocolMismatch
from fleet.records.lease_records import (
    NOBODY_KNOWN,
    UNREADABLE_COORDINATOR_LEASE_SECONDS,
    UNREADABLE_MEMBER_LEASE_SECONDS,
    Times,
    coordinator_record,
    lease_from_coordinator,
    lease_from_member,
    lease_of,
    map_from_configmap,
    member_record,
    member_record_from_lease,
    micro_time,
    shard_record_from_lease,
)
from fleet.records.map_record import configmap_from_map
from fleet.records.object_names import Names
from fleet.records.record import (
    CoordinatorRecord,
    Holder,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
)
from fleet.records.report_record import PartRecord, RolloutRecord, ShardLoad, SplitPoint
from fleet.records.shard_lease import MAX_WATERMARK_BYTES, lease_from_shard, shard_record
from fleet.rules.handover import is_free
from fleet.rules.reshard import is_mangled
from shards.gates.watermark import ResourceMark, Unseen, Watermark
from shards.keyrange import WHOLE
from shards.objects import Object
from tests.unit.fleet.records.records import FLEET, coordinators, member, members, shard, shard_map, shards

NAMES = Names(FLEET, "prod")
TIMES = Times(micro_time(0.0), micro_time(1.5))


def as_server_answers(obj: Object, version: str, uid: str = "") -> Object:
    """The object as it comes back: through JSON, with the version and UID that the server gave it."""
    answer: Object = msgspec.json.decode(msgspec.json.encode(obj))
    answer["metadata"] |= {"resourceVersion": version, "uid": uid}
    return answer


def member_lease(record: MemberRecord) -> Object:
    return as_server_answers(lease_from_member(NAMES, record, replaces="", times=TIMES), record.version, record.uid)


def shard_lease(record: ShardRecord) -> Object:
    return as_server_answers(lease_from_shard(NAMES, record, replaces="", times=TIMES), record.version, record.uid)


def annotated(obj: Object, **notes: str | None) -> Object:
    """The object after somebody changed annotations of ours; None removes one."""
    annotations = dict(obj["metadata"]["annotations"])
    for name, value in notes.items():
        key = f"shardfleet.dev/{name.replace('_', '-')}"
        if value is None:
            annotations.pop(key, None)
        else:
            annotations[key] = value
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def respecified(obj: Object, **fields: object) -> Object:
    """The object after somebody changed its spec; None removes a field."""
    spec = {key: value for key, value in {**obj["spec"], **fields}.items() if value is not None}
    return {**obj, "spec": spec}


def read_member(obj: Object) -> MemberRecord:
    record = member_record_from_lease(obj)
    assert record is not None
    return record


def read_shard(obj: Object) -> ShardRecord:
    record = shard_record_from_lease(obj)
    assert record is not None
    return record


# -- round trips ------------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(members)
def test_a_member_comes_back_as_it_was_written(record: MemberRecord) -> None:
    assert read_member(member_lease(record)) == record


@settings(max_examples=50)
@given(shards)
def test_a_shard_comes_back_as_it_was_written(record: ShardRecord) -> None:
    assert read_shard(shard_lease(record)) == record


@settings(max_examples=50)
@given(coordinators)
def test_a_coordinator_comes_back_as_it_was_written(record: CoordinatorRecord) -> None:
    body = lease_from_coordinator(NAMES, record, replaces="", times=TIMES)
    lease = lease_of(as_server_answers(body, record.version))
    assert lease is not None
    assert coordinator_record(lease, FLEET) == record


@settings(max_examples=50)
@given(shards)
def test_a_lease_has_only_what_the_api_accepts(record: ShardRecord) -> None:
    obj = lease_from_shard(NAMES, record, replaces="9", times=TIMES)
    assert obj["spec"].keys() <= {"holderIdentity", "leaseTransitions", "acquireTime", "renewTime"}
    assert all(isinstance(value, str) for value in obj["metadata"]["annotations"].values())
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", obj["metadata"]["name"])


def test_lease_seconds_are_rounded_up_for_others_and_kept_exactly() -> None:
    lease = member_lease(member(lease_seconds=2.5))
    assert lease["spec"]["leaseDurationSeconds"] == 3
    assert read_member(lease).lease_seconds == 2.5


def test_times_have_six_fractional_digits() -> None:
    assert micro_time(1.5) == "1970-01-01T00:00:01.500000Z"
    assert micro_time(0) == "1970-01-01T00:00:00.000000Z"


def test_what_was_read_as_holder_text_is_not_written() -> None:
    released = replace(shard(), holder=None, released=5)
    assert released.holder_text
    assert read_shard(shard_lease(released)).holder_text == ""


def test_a_watermark_that_is_too_long_is_left_out() -> None:
    unseen = Unseen("v1/configmaps", "ns", "n" * 200, "u" * 36, "12")
    long = Watermark(5, {"v1/configmaps": ResourceMark("d", "12", (unseen,) * (MAX_WATERMARK_BYTES // 250))})
    assert read_shard(shard_lease(shard(watermark=long))).watermark is None


# -- other people's objects -------------------------------------------------------------------------------------------


def test_objects_of_another_kind_are_no_records() -> None:
    assert member_record_from_lease(shard_lease(shard())) is None
    assert shard_record_from_lease(member_lease(member())) is None
    foreign: Object = {"metadata": {"name": "web-member-x", "namespace": "prod"}, "spec": {"holderIdentity": "x/1"}}
    assert member_record_from_lease(foreign) is None
    assert shard_record_from_lease(foreign) is None
    assert map_from_configmap({"metadata": {"name": "web-map"}, "data": {"map.json": "{}"}}) is None


def test_a_map_is_found_by_its_label() -> None:
    obj = as_server_answers(configmap_from_map(NAMES, shard_map(), replaces=""), "12")
    found = map_from_configmap(obj)
    assert found is not None
    assert found == (shard_map(), "12")
    assert map_from_configmap({**obj, "data": {}}) is None


def test_an_object_that_is_no_lease_at_all_is_no_record() -> None:
    assert lease_of({"metadata": {"name": "x"}, "spec": {"leaseTransitions": "many"}}) is None
    assert lease_of(b"{") is None


def test_a_lease_without_labels_is_read_by_the_fleet_that_asks_for_it_by_name() -> None:
    obj = shard_lease(shard())
    obj["metadata"]["labels"] = None
    lease = lease_of(obj)
    assert lease is not None
    assert shard_record(lease, FLEET) is not None
    assert shard_record(lease, "other") is None


def test_a_lease_of_a_fleet_with_a_longer_name_is_not_ours() -> None:
    theirs = Names("web-member", "prod")
    lease = lease_of(lease_from_member(theirs, member("x"), replaces="", times=TIMES))
    assert lease is not None
    assert lease.metadata.name == "web-member-member-x"
    with pytest.raises(ProtocolMismatch, match="belongs to fleet 'web-member'"):
        member_record(lease, FLEET)


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(ProtocolMismatch, match="protocol '2'"):
        member_record_from_lease(annotated(member_lease(member()), protocol="2"))


def test_a_range_under_an_unknown_hash_is_refused() -> None:
    obj = shard_lease(shard())
    obj["metadata"]["name"] = obj["metadata"]["name"].replace("uidv1", "uidv2")
    with pytest.raises(ProtocolMismatch, match="hash version"):
        shard_record_from_lease(obj)


def test_a_name_that_is_no_range_is_no_shard() -> None:
    obj = shard_lease(shard())
    obj["metadata"]["name"] = "web-shard-uidv1-ffffffffffffffff-0000000000000000"
    assert shard_record_from_lease(obj) is None


# -- edited by hand: members ------------------------------------------------------------------------------------------


def test_a_member_that_was_fenced_or_left_has_no_holder() -> None:
    assert read_member(member_lease(member(holder=None))).holder is None


def test_a_member_whose_holder_was_emptied_by_hand_may_still_be_alive() -> None:
    assert read_member(respecified(member_lease(member()), holderIdentity="")).holder == NOBODY_KNOWN
    assert read_member(respecified(member_lease(member()), holderIdentity=None)).holder == NOBODY_KNOWN


def test_a_leave_of_an_earlier_epoch_says_nothing_about_a_later_one() -> None:
    lease = annotated(respecified(member_lease(member()), holderIdentity=""), left="2")
    assert read_member(lease).holder == NOBODY_KNOWN


def test_text_that_is_no_incarnation_is_a_foreign_holder() -> None:
    assert read_member(respecified(member_lease(member()), holderIdentity="me")).holder == Incarnation("me", 0)


@pytest.mark.parametrize("transitions", [None, 0, 2])
def test_an_epoch_that_was_lowered_by_hand_does_not_fall(transitions: int | None) -> None:
    assert read_member(respecified(member_lease(member(epoch=3)), leaseTransitions=transitions)).epoch == 3


def test_an_epoch_that_was_raised_by_hand_is_followed() -> None:
    assert read_member(respecified(member_lease(member(epoch=3)), leaseTransitions=9)).epoch == 9


def test_a_member_without_annotations_keeps_its_holder_and_epoch() -> None:
    lease = member_lease(member(renewals=4))
    lease["metadata"]["annotations"] = None
    record = read_member(lease)
    assert (record.holder, record.epoch, record.renewals) == (member().holder, 3, 0)


@pytest.mark.parametrize("broken", ["-1", "1e3", "NaN", "²", "٣", "9" * 5000, " 4", ""])
def test_a_number_that_cannot_be_read_is_zero(broken: str) -> None:
    record = read_member(annotated(member_lease(member(pid=7)), pid=broken, seen_map=broken, renewals=broken))
    assert (record.pid, record.seen_map, record.renewals) == (0, 0, 0)


@pytest.mark.parametrize("broken", ["{", "[]", '{"a": {"objects": "many"}}'])
def test_loads_that_cannot_be_read_are_none(broken: str) -> None:
    assert read_member(annotated(member_lease(member()), loads=broken)).loads == {}


@pytest.mark.parametrize("broken", ["{", "{}", '[{"controller": "a"}]', '[{"since": "long ago"}]'])
def test_failing_and_waiting_keys_that_cannot_be_read_are_none(broken: str) -> None:
    assert read_member(annotated(member_lease(member()), failing=broken)).failing == ()
    assert read_member(annotated(member_lease(member()), waiting=broken)).waiting == ()


@pytest.mark.parametrize("broken", ["{", "[]", '{"digest": 1}', '[{"on": 3}]'])
def test_what_a_member_says_of_its_features_is_nothing_where_it_cannot_be_read(broken: str) -> None:
    assert read_member(annotated(member_lease(member()), parts=broken)).parts == ()
    assert read_member(annotated(member_lease(member()), rollout=broken)).rollout is None


def test_what_a_later_version_adds_is_passed_over() -> None:
    later = '[{"controller": "a", "shards": 2, "colour": "red"}]'
    assert read_member(annotated(member_lease(member()), parts=later)).parts == (PartRecord("a", shards=2),)
    later = '{"digest": "d", "colour": "red"}'
    assert read_member(annotated(member_lease(member()), rollout=later)).rollout == RolloutRecord("d")


def test_what_is_zero_takes_no_room_in_the_parts() -> None:
    lease = member_lease(member(parts=(PartRecord("a", "VersionGate", shards=3),)))
    [text] = [text for name, text in lease["metadata"]["annotations"].items() if name.endswith("/parts")]
    assert text == '[{"controller":"a","on":"VersionGate","shards":3}]'


def test_what_is_zero_takes_no_room_in_the_loads() -> None:
    lease = member_lease(member(loads={"r": ShardLoad(objects=7), "s": ShardLoad()}))
    [text] = [text for name, text in lease["metadata"]["annotations"].items() if name.endswith("/loads")]
    assert text == '{"r":{"objects":7},"s":{}}'
    assert read_member(lease).loads == {"r": ShardLoad(objects=7), "s": ShardLoad()}


@pytest.mark.parametrize(
    ("duration", "note", "seconds"),
    [
        (8, "8.0", 8.0),
        (20, "8.0", 20.0),
        (3, "8.0", 8.0),
        (None, "8.0", 8.0),
        (8, None, 8.0),
        (8, "inf", 8.0),
        (8, "nan", 8.0),
        (8, "-4", 8.0),
        (8, "1e300", 3600.0),
        (2_000_000_000, None, 3600.0),
        (None, None, UNREADABLE_MEMBER_LEASE_SECONDS),
    ],
)
def test_a_lease_that_was_edited_counts_as_the_longer_one(
    duration: int | None, note: str | None, seconds: float
) -> None:
    lease = annotated(respecified(member_lease(member()), leaseDurationSeconds=duration), lease_seconds=note)
    assert read_member(lease).lease_seconds == seconds


# -- edited by hand: shards -------------------------------------------------------------------------------------------

RELEASED = shard(holder=None, holder_text="", released=5, last_holder=Holder("web-0-1", 3))
MAP: ShardMap = shard_map(floors={"web-0-1": 9})


def test_a_released_shard_is_free() -> None:
    assert is_free(read_shard(shard_lease(RELEASED)), MAP)


def test_a_shard_whose_holder_was_emptied_by_hand_is_not_free() -> None:
    record = read_shard(respecified(shard_lease(shard()), holderIdentity=""))
    assert not is_free(record, MAP)
    assert is_mangled(record)


@pytest.mark.parametrize("status", ["", "Active", "free", "retired "])
@pytest.mark.parametrize("written", [RELEASED, shard(), replace(RELEASED, status=ShardStatus.RETIRED)])
def test_a_status_that_cannot_be_read_is_never_free(written: ShardRecord, status: str) -> None:
    record = read_shard(annotated(shard_lease(written), status=status))
    assert not is_free(record, MAP)
    assert is_mangled(record)
    assert record.epoch == written.epoch


@pytest.mark.parametrize("holder", ["web-0-1", "@3", "web-0-1@", "web-0-1@-3", "web-0-1@3x", "web-0-1@²"])
def test_text_that_is_no_holder_is_never_free(holder: str) -> None:
    record = read_shard(respecified(shard_lease(RELEASED), holderIdentity=holder))
    assert record.holder is None
    assert record.holder_text == holder
    assert not is_free(record, MAP)
    assert is_mangled(record)


def test_an_epoch_that_cannot_be_read_is_never_free() -> None:
    record = read_shard(annotated(respecified(shard_lease(RELEASED), leaseTransitions=None), epoch="five"))
    assert not is_free(record, MAP)
    assert is_mangled(record)


def test_a_release_stamp_of_another_epoch_frees_nothing() -> None:
    assert not is_free(read_shard(respecified(shard_lease(RELEASED), leaseTransitions=6)), MAP)
    assert not is_free(read_shard(annotated(shard_lease(RELEASED), released="five")), MAP)


def test_a_shard_without_any_annotation_or_spec_is_never_free() -> None:
    lease = shard_lease(RELEASED)
    lease["metadata"]["annotations"] = None
    assert not is_free(read_shard(lease), MAP)
    del lease["spec"]
    assert not is_free(read_shard(lease), MAP)


WATERMARK = Watermark(5, {"v1/configmaps": ResourceMark("digest", "12")})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"protocol":1', '"protocol":2'),
        ('"12"', '"twelve"'),
        ('"12"', '"012"'),
        ('"12"', "12"),
        ("}", ""),
        ('"epoch":5,', ""),
    ],
)
def test_a_broken_watermark_is_none(old: str, new: str) -> None:
    lease = shard_lease(shard(watermark=WATERMARK))
    text = lease["metadata"]["annotations"]["shardfleet.dev/watermark"]
    assert read_shard(lease).watermark == WATERMARK
    assert read_shard(annotated(lease, watermark=text.replace(old, new, 1))).watermark is None


@pytest.mark.parametrize("broken", ["", "{", '{"holder": "x", "epoch": 5}', '{"holder": "web-0-1@3"}'])
def test_a_broken_standby_is_none(broken: str) -> None:
    assert read_shard(annotated(shard_lease(shard()), standby=broken)).standby is None


# -- the coordinator --------------------------------------------------------------------------------------------------


def test_a_coordinator_lease_that_says_nothing_is_free_for_the_next_one() -> None:
    lease = lease_of({"metadata": {"name": "web-coordinator", "resourceVersion": "4"}})
    assert lease is not None
    assert coordinator_record(lease, FLEET) == CoordinatorRecord(
        "", 0, UNREADABLE_COORDINATOR_LEASE_SECONDS, version="4"
    )


def test_a_resignation_may_carry_no_seconds_at_all() -> None:
    body = lease_from_coordinator(NAMES, CoordinatorRecord("", 4, 0.0), replaces="9", times=TIMES)
    assert body["spec"]["leaseDurationSeconds"] == 1
    assert math.isfinite(body["spec"]["leaseTransitions"])


def test_whole_range_is_spelled_with_sixteen_digits_each() -> None:
    assert shard_lease(shard())["metadata"]["name"] == f"web-shard-uidv1-{WHOLE}"


DEEP = '{"x":' + "[" * 50_000
"""More brackets than a decoder follows."""


@pytest.mark.parametrize("name", ["loads", "watermark", "standby"])
def test_an_annotation_of_brackets_costs_no_more_than_its_content(name: str) -> None:
    written = member_lease(member()) if name == "loads" else shard_lease(shard(WHOLE))
    written["metadata"]["annotations"][f"shardfleet.dev/{name}"] = {
        "loads": '{"r":' + DEEP,
        "watermark": DEEP,
        "standby": DEEP,
    }[name]
    found = member_record_from_lease(written) if name == "loads" else shard_record_from_lease(written)
    assert found is not None
    assert not getattr(found, name)


def test_an_epoch_that_a_hand_raised_beyond_the_field_still_counts_and_can_be_written() -> None:
    written = member_lease(replace(member(), epoch=2**40))
    assert written["spec"]["leaseTransitions"] == 2**31 - 1
    found = member_record_from_lease(written)
    assert found is not None
    assert found.epoch == 2**40


@pytest.mark.parametrize("seconds", [10**400, -(10**400)])
def test_a_length_that_no_field_holds_counts_as_the_longest_or_none(seconds: int) -> None:
    lease = lease_of(respecified(member_lease(member()), leaseDurationSeconds=seconds))
    assert lease is not None
    assert lease.seconds(8.0) == (UNREADABLE_MEMBER_LEASE_SECONDS if seconds > 0 else 8.0)


def test_an_object_of_brackets_is_no_lease() -> None:
    assert lease_of(b'{"metadata":{"name":"a"},"spec":' + b"[" * 2000) is None


@pytest.mark.parametrize("text", ["", "nan", "inf", "0", "-1", "1e9", "heavy"])
def test_a_member_whose_weight_is_none_counts_like_any_other(text: str) -> None:
    lease = member_lease(member(weight=2.0))
    lease["metadata"]["annotations"]["shardfleet.dev/weight"] = text
    assert read_member(lease).weight == 1.0


def test_a_split_point_rides_on_the_load_of_a_busy_shard_in_little_more_than_a_hundred_bytes() -> None:
    point = SplitPoint("8" * 16, 0.49, "9" * 16, 0.31)
    bare, told = (
        member_lease(member(loads={"r": ShardLoad()})),
        member_lease(member(loads={"r": ShardLoad(split=point)})),
    )
    assert read_member(told).loads["r"].split == point
    assert len(str(told)) - len(str(bare)) < 120
