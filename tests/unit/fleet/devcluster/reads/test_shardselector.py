from __future__ import annotations

import pytest

from fleet.devcluster.reads.shardselector import ShardSelectorError, parse_shard_selector
from shards.keyrange import SPACE, KeyRange, PartitionKey, fnv1a64
from shards.objects import Meta

UID = "object.metadata.uid"
FIRST, HALF, END = "0x0000000000000000", "0x8000000000000000", "0x10000000000000000"


def test_the_canonical_selector_of_a_range_is_read_back_as_itself() -> None:
    covered = KeyRange(5, SPACE - 1)
    text = covered.selector(PartitionKey.UID)
    parsed = parse_shard_selector(text)
    assert parsed.ranges == ((5, SPACE),)
    assert str(parsed) == text


def test_ranges_are_half_open_and_hash_the_text_of_the_uid() -> None:
    meta = Meta(uid="test-uid-12345", namespace="default")
    value = fnv1a64(meta.uid)
    just = parse_shard_selector(f"shardRange({UID}, '0x{value:016x}', '0x{value + 1:016x}')")
    before = parse_shard_selector(f"shardRange({UID}, '0x{value - 1:016x}', '0x{value:016x}')")
    assert just.admits(meta)
    assert not before.admits(meta)


def test_the_namespace_can_be_the_key_and_ranges_can_be_joined() -> None:
    key = "object.metadata.namespace"
    value = fnv1a64("default")
    joined = f"(shardRange({key}, '{FIRST}', '0x{1:016x}')) || shardRange({key},'0x{value:016x}','0x{value + 1:016x}')"
    parsed = parse_shard_selector(joined)
    assert parsed.admits(Meta(namespace="default"))
    assert not parsed.admits(Meta(namespace="other"))


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        (" ", "empty shard selector is not allowed"),
        (f"shardRange({UID}, '0x0', '{END}')", 'did you mean "0x0000000000000000"'),
        (f"shardRange({UID}, '{FIRST}', '0xA000000000000000')", "invalid hex character"),
        (f"shardRange({UID}, '{FIRST}', '0x20000000000000000')", "17-digit hex value"),
        (f"shardRange({UID}, '{HALF}', '{HALF}')", "must be less than"),
        (f"shardRange({UID}, '{FIRST}')", "exactly 3 arguments, got 2"),
        (f"shardRange({UID}, 0, 1)", "hexStart must be a string literal"),
        (f"shardRange(object.metadata.name, '{FIRST}', '{END}')", "unsupported field path"),
        (f"shardRange({UID}, '{FIRST}', '{HALF}') && shardRange({UID}, '{HALF}', '{END}')", "_&&_"),
        (
            f"shardRange({UID}, '{FIRST}', '{HALF}') || shardRange(object.metadata.namespace, '{HALF}', '{END}')",
            "same field",
        ),
        ("other('a')", 'unsupported function "other"'),
        ("object", "unexpected expression kind 3"),
        (f"shardRange({UID}, '{FIRST}', '{END}'", "CEL parse error"),
        (f"shardRange({UID}, '{FIRST}', '{END}') x", "CEL parse error"),
        ("#", "CEL parse error"),
    ],
)
def test_a_selector_that_the_server_refuses_says_why(selector: str, why: str) -> None:
    with pytest.raises(ShardSelectorError) as refused:
        parse_shard_selector(selector)
    assert why in str(refused.value)
