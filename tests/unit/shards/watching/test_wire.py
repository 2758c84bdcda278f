"""Lines, pages and events, out of bytes that are cut anywhere."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shards.watching.wire import (
    MAX_LINE_BYTES,
    EventType,
    LineSplitter,
    MalformedStream,
    decode_event,
    decode_item,
    decode_page,
)


def event_line(kind: str, name: str, version: str, label: str = "") -> bytes:
    body = {"kind": "X", "apiVersion": "v1", "metadata": {"name": name, "resourceVersion": version, "uid": name}}
    return msgspec.json.encode({"type": kind, "object": {**body, "data": label}}) + b"\n"


class TestLines:
    TEXT = b"".join(event_line("ADDED", f"\u7f51\u7ad9-\U0001f680-{n}", str(n + 1), "\u00e9\n\u20ac") for n in range(4))

    def test_every_place_of_a_cut_gives_the_same_lines(self) -> None:
        expected = [line for line in self.TEXT.split(b"\n") if line]
        for at in range(len(self.TEXT) + 1):
            splitter = LineSplitter()
            assert splitter.feed(self.TEXT[:at]) + splitter.feed(self.TEXT[at:]) == expected

    @settings(max_examples=60)
    @given(st.lists(st.integers(0, len(TEXT)), max_size=30))
    def test_any_number_of_cuts_gives_the_same_lines(self, cuts: list[int]) -> None:
        splitter = LineSplitter()
        bounds = [0, *sorted(cuts), len(self.TEXT)]
        found = [line for a, b in pairwise(bounds) for line in splitter.feed(self.TEXT[a:b])]
        assert found == [line for line in self.TEXT.split(b"\n") if line]

    def test_a_line_cut_at_the_end_of_a_stream_is_no_line(self) -> None:
        assert LineSplitter().feed(self.TEXT[:-1])[-1].startswith(b'{"type"')
        assert len(LineSplitter().feed(self.TEXT[:-1])) == 3

    def test_empty_lines_mean_nothing(self) -> None:
        assert LineSplitter().feed(b"\r\n\n  \nx\n") == [b"x"]

    def test_a_line_above_the_limit_is_refused_before_it_is_complete(self) -> None:
        splitter = LineSplitter(limit=100)
        splitter.feed(b"x" * 100)
        with pytest.raises(MalformedStream, match="longer than 100"):
            splitter.feed(b"x")

    def test_the_default_limit_is_far_above_what_etcd_stores(self) -> None:
        splitter = LineSplitter()
        splitter.feed(b"x" * MAX_LINE_BYTES)
        assert splitter.feed(b"\n") == [b"x" * MAX_LINE_BYTES]


class TestEvents:
    def test_metadata_is_decoded_and_the_body_kept_as_it_came(self) -> None:
        event = decode_event(event_line("MODIFIED", "a", "12", "caf\u00e9"))
        assert (event.type, event.meta.name, event.meta.resource_version) == (EventType.MODIFIED, "a", "12")
        assert msgspec.json.decode(event.raw)["data"] == "caf\u00e9"

    def test_a_bookmark_may_lack_everything_but_its_version(self) -> None:
        bare = b'{"spec":{"containers":null},"metadata":{"resourceVersion":"9","labels":null}}'
        event = decode_event(b'{"type":"BOOKMARK","object":' + bare + b"}")
        assert (event.type, event.meta.resource_version) == (EventType.BOOKMARK, "9")

    def test_an_error_event_carries_the_servers_error(self) -> None:
        status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 3 (10)"}
        event = decode_event(msgspec.json.encode({"type": "ERROR", "object": status}))
        assert event.error is not None
        assert (event.error.status, event.error.reason) == (410, "Expired")

    def test_an_error_event_carries_retry_after(self) -> None:
        status = {"code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 3}}
        event = decode_event(msgspec.json.encode({"type": "ERROR", "object": status}))
        assert event.error is not None
        assert event.error.retry_after_seconds == 3

    @pytest.mark.parametrize(
        "line",
        [
            b"",
            b"{",
            b"[]",
            b'{"type":"ADDED"}',
            b'{"type":"ADDED","object":{}}',
            b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}',
            b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"0"}}}',
            b'{"type":"MOVED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}',
            b'{"type":"ADDED","object":{"metadata":{"name":"\xff","resourceVersion":"1"}}}',
            b'{"type":"ERROR","object":"gone"}',
        ],
    )
    def test_what_is_no_event_is_refused(self, line: bytes) -> None:
        with pytest.raises(MalformedStream):
            decode_event(line)


class TestPages:
    def test_a_page_gives_its_version_and_its_token(self) -> None:
        found = decode_page(
            b'{"kind":"XList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"t"},"items":[{},{}]}'
        )
        assert (found.version, found.next, len(found.items)) == ("7", "t", 2)

    def test_an_empty_collection_may_have_no_items_at_all(self) -> None:
        assert decode_page(b'{"metadata":{"resourceVersion":"7"},"items":null}').items == []

    def test_items_of_built_in_kinds_get_the_kind_that_lists_leave_out(self) -> None:
        found = decode_page(
            b'{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},'
            b'"items":[{"metadata":{"name":"a","uid":"u","resourceVersion":"3"},"data":{"k":"v"}}]}'
        )
        item = decode_item(found.items[0], found.prefix)
        assert item.meta.name == "a"
        assert msgspec.json.decode(bytes(item.raw)) == {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "3"},
            "data": {"k": "v"},
        }

    def test_items_that_name_their_kind_stay_as_they_came(self) -> None:
        metadata = b'{"name":"a","uid":"u","resourceVersion":"3"}'
        raw = msgspec.Raw(b'{"apiVersion":"g/v1","kind":"Website","metadata":' + metadata + b"}")
        assert bytes(decode_item(raw, b'{"kind":"Other",').raw) == bytes(raw)

    @pytest.mark.parametrize(
        "body", [b"", b"<html>", b'{"items":[]}', b'{"metadata":{"resourceVersion":7},"items":[]}']
    )
    def test_what_is_no_list_is_refused(self, body: bytes) -> None:
        with pytest.raises(MalformedStream, match="not a list"):
            decode_page(body)

    def test_an_item_without_a_version_is_refused(self) -> None:
        with pytest.raises(MalformedStream, match="cannot be compared"):
            decode_item(msgspec.Raw(b'{"metadata":{"name":"a"}}'), b"")


def test_an_object_without_uid_is_refused_and_a_bookmark_needs_none() -> None:
    body = b'{"metadata":{"name":"a","resourceVersion":"5"}}'
    with pytest.raises(MalformedStream, match="no UID"):
        decode_item(msgspec.Raw(body), b"")
    with pytest.raises(MalformedStream, match="no UID"):
        decode_event(b'{"type":"ADDED","object":' + body + b"}")
    assert decode_event(b'{"type":"BOOKMARK","object":' + body + b"}").meta.resource_version == "5"


def test_an_object_of_brackets_is_malformed() -> None:
    body = b'{"metadata":{"name":"a","uid":"u","resourceVersion":"5"},"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    with pytest.raises(MalformedStream):
        decode_item(msgspec.Raw(body), b"")
    with pytest.raises(MalformedStream):
        decode_event(b'{"type":"ADDED","object":' + body + b"}")


def test_a_list_of_brackets_is_malformed() -> None:
    with pytest.raises(MalformedStream):
        decode_page(b'{"metadata":{"resourceVersion":"1"},"items":' + b"[" * 2000)
