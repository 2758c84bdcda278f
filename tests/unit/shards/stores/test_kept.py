"""What a store keeps of an object's metadata is all of it, in less memory."""

from __future__ import annotations

import msgspec
import pytest

from shards.objects import Meta, ObjectName, OwnerReference
from shards.stores.kept import WORDS, Keeper, Kept, key_of, name_in

OWNERS = (
    OwnerReference("Website", "w", "o1", "demo.dev/v1", None),
    OwnerReference("Website", "x", "o2", "demo.dev/v1", True),
)


def kept(meta: Meta, keeper: Keeper | None = None) -> Kept:
    made = (keeper or Keeper()).keep(meta)
    made.blob = msgspec.json.encode({"metadata": meta})
    return made


@pytest.mark.parametrize(
    "meta",
    [
        Meta("a", "ns", "u", "5"),
        Meta("a", "", "u", "5"),
        Meta("a", "ns", "u", "5", 7, "2026-11-30T09:00:00Z", {"x": "1", "y": ""}, {"note": "n"}, OWNERS),
        Meta("a", "ns", "u", "5", labels={}, annotations={}, owner_references=()),
        Meta("with/slash", "ns", "u", "5"),
    ],
)
def test_metadata_comes_back_as_it_was(meta: Meta) -> None:
    assert kept(meta).meta(key_of(meta.namespace, meta.name)) == meta


def test_a_name_comes_back_from_its_key() -> None:
    assert name_in(key_of("ns", "a")) == ObjectName("ns", "a")
    assert name_in(key_of("", "a")) == ObjectName("", "a")


def test_the_controller_is_the_owner_that_controls() -> None:
    assert kept(Meta("a", "ns", "u", "5", owner_references=OWNERS)).controller == "o2"
    assert kept(Meta("a", "ns", "u", "5", owner_references=OWNERS[:1])).controller == ""
    assert kept(Meta("a", "ns", "u", "5")).controller == ""


def test_annotations_that_the_kept_body_does_not_have_are_none() -> None:
    made = Keeper().keep(Meta("a", "ns", "u", "5", annotations={"a": "b"}))
    made.blob = b'{"metadata":[]}'
    assert made.meta("ns/a").annotations is None


def test_objects_with_the_same_labels_share_them_and_a_caller_gets_a_dict_of_its_own() -> None:
    keeper = Keeper()
    one, other = (kept(Meta(name, "ns", name, "5", labels={"app": "web"}), keeper) for name in "ab")
    assert one.labels is other.labels
    meta = one.meta("ns/a")
    assert meta.labels is not None
    meta.labels["app"] = "spoilt"
    assert other.meta("ns/b").labels == {"app": "web"}


def test_labels_that_nobody_shares_do_not_fill_the_memory() -> None:
    keeper = Keeper()
    for number in range(WORDS + 10):
        keeper.keep(Meta("a", "ns", "u", "5", labels={"id": str(number)}))
    assert len(keeper._sets) == WORDS
