"""Protobuf bodies become the objects that they stand for; other bytes are refused in words."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.devcluster.protobuf.decoding import MAGIC, decode
from fleet.devcluster.protobuf.messages import message_of
from fleet.devcluster.protobuf.wire import ProtobufError, varint


def number(value: int) -> bytes:
    """A varint."""
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def text(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return number(field << 3 | 2) + number(len(raw)) + raw


def whole(field: int, value: int) -> bytes:
    return number(field << 3) + number(value)


def body(api_version: str, kind: str, content: bytes) -> bytes:
    return MAGIC + text(1, text(1, api_version) + text(2, kind)) + text(2, content)


def test_a_config_map_with_its_maps() -> None:
    metadata = text(1, "a") + text(3, "default") + text(11, text(1, "app") + text(2, "x"))
    content = text(1, metadata) + text(2, text(1, "k") + text(2, "v")) + text(2, text(1, "empty"))
    content += text(3, text(1, "b") + text(2, b"\x00\xff"))
    assert decode(body("v1", "ConfigMap", content)) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "a", "namespace": "default", "labels": {"app": "x"}},
        "data": {"k": "v", "empty": ""},
        "binaryData": {"b": base64.b64encode(b"\x00\xff").decode()},
    }


def test_a_zero_is_kept_only_where_the_go_field_tells_it_from_nothing() -> None:
    spec = whole(1, 0) + whole(5, 0) + whole(6, 3)
    decoded = decode(body("apps/v1", "Deployment", text(2, spec)))
    assert decoded["spec"] == {"replicas": 0, "revisionHistoryLimit": 3}


def test_times_are_text_and_gos_zero_time_is_nothing() -> None:
    spec = text(1, "me") + text(4, whole(1, 1_000_000_000) + whole(2, 123_456_000))
    metadata = text(8, whole(1, -62_135_596_800)) + text(1, "a")
    decoded = decode(body("coordination.k8s.io/v1", "Lease", text(1, metadata) + text(2, spec)))
    assert decoded["metadata"] == {"name": "a"}
    assert decoded["spec"] == {"holderIdentity": "me", "renewTime": "2001-09-09T01:46:40.123456Z"}


def test_an_inlined_struct_leaves_no_level_of_its_own() -> None:
    selector = text(1, text(1, "settings")) + text(2, "key")
    source = text(3, selector)
    variable = text(1, "X") + text(3, source)
    container = text(1, "c") + text(7, variable)
    decoded = decode(body("v1", "Pod", text(2, text(2, container))))
    reference = decoded["spec"]["containers"][0]["env"][0]["valueFrom"]["configMapKeyRef"]
    assert reference == {"name": "settings", "key": "key"}


def test_numbers_or_text() -> None:
    by_number = text(4, whole(1, 0) + whole(2, 8080) + text(3, ""))
    by_name = text(4, whole(1, 1) + whole(2, 0) + text(3, "http"))
    ports = b"".join(text(1, whole(3, 80) + each) for each in (by_number, by_name))
    decoded = decode(body("v1", "Service", text(2, ports)))
    assert [port["targetPort"] for port in decoded["spec"]["ports"]] == [8080, "http"]


def test_negative_numbers_are_sent_as_64_bits() -> None:
    decoded = decode(body("scheduling.k8s.io/v1", "PriorityClass", text(1, text(1, "low")) + whole(2, -5)))
    assert decoded["value"] == -5


def test_options_of_a_delete_exist_in_every_version() -> None:
    options = text(2, text(1, "the-uid")) + text(4, "Foreground")
    decoded = decode(body("apps/v1", "DeleteOptions", options))
    assert decoded["preconditions"] == {"uid": "the-uid"}
    assert decoded["propagationPolicy"] == "Foreground"


def test_unknown_fields_are_skipped() -> None:
    assert "metadata" not in decode(body("v1", "ConfigMap", whole(99, 1) + text(98, "x")))


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"{}", "does not appear to be a protobuf message"),
        (body("v1", "Nonsense", b""), "no kind 'Nonsense' is registered for version 'v1'"),
        (body("v1", "ConfigMap", b"\x0a\x7fabc"), "ends after its message"),
        (body("v1", "ConfigMap", b"\x0b"), "wire type 3 of field 1 is unknown"),
        (body("v1", "ConfigMap", whole(1, 7)), "a number stands where a message or a text should be"),
        (body("v1", "ConfigMap", text(1, text(1, b"\xff"))), "not UTF-8"),
        (MAGIC + b"\xff", "does not end"),
    ],
)
def test_other_bytes_are_refused(raw: bytes, why: str) -> None:
    with pytest.raises(ProtobufError, match=why):
        decode(raw)


@given(st.binary(max_size=200), st.sampled_from(["v1/ConfigMap", "v1/Pod", "apps/v1/Deployment"]))
def test_any_bytes_decode_or_are_refused(content: bytes, what: str) -> None:
    api_version, _, kind = what.rpartition("/")
    for raw in (content, MAGIC + content, body(api_version, kind, content)):
        try:
            decode(raw)
        except ProtobufError:
            continue


@given(st.integers(min_value=0, max_value=(1 << 64) - 1))
def test_varints_come_back(value: int) -> None:
    raw = number(value)
    assert varint(raw, 0) == (value, len(raw))


def test_kinds_of_one_name_in_two_groups_are_told_apart() -> None:
    assert message_of("v1", "Event") == "k8s.io.api.core.v1.Event"
    assert message_of("events.k8s.io/v1", "Event") == "k8s.io.api.events.v1.Event"
    assert message_of("demo.shardfleet.dev/v1", "Website") == ""
