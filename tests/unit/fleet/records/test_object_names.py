from __future__ import annotations

import pytest

from fleet.records.object_names import MAX_NAME, Kind, Names
from shards.errors import ConfigError
from shards.keyrange import SPACE, WHOLE, KeyRange, PartitionKey


def test_names_say_what_an_object_holds() -> None:
    names = Names("web", "prod")
    assert names.map == "web-map"
    assert names.coordinator == "web-coordinator"
    assert names.member("web-0-1") == "web-member-web-0-1"
    assert names.shard(WHOLE) == "web-shard-uidv1-0000000000000000-ffffffffffffffff"


def test_ranges_of_two_partition_keys_have_two_objects() -> None:
    names = Names("web", "prod")
    assert len({names.shard(KeyRange(0, SPACE - 1, key)) for key in PartitionKey}) == len(PartitionKey)


def test_the_longest_shard_name_fits() -> None:
    names = Names("a" * 63, "prod")
    assert len(names.shard(KeyRange(SPACE - 1, SPACE - 1, PartitionKey.NAMESPACE))) <= MAX_NAME


def test_objects_are_selected_by_fleet_and_kind() -> None:
    names = Names("web", "prod")
    assert names.selector(Kind.SHARD) == "shardfleet.dev/fleet=web,shardfleet.dev/kind=shard"


@pytest.mark.parametrize("value", ["", "Web", "web.prod", "-web", "web-", "wéb", "a" * 64, "web\n"])
def test_a_value_that_is_no_label_is_refused_with_the_path_of_its_field(value: str) -> None:
    with pytest.raises(ConfigError, match="lower-case letters") as refused:
        Names(value, "prod")
    assert refused.value.path == "fleet"
    with pytest.raises(ConfigError) as refused:
        Names("web", value)
    assert refused.value.path == "namespace"


@pytest.mark.parametrize("name", ["", "Web-0-1", "web_0", "web..0", "web-0-", "x" * 253])
def test_a_member_that_cannot_name_a_lease_is_refused(name: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Names("web", "prod").member(name)
    assert refused.value.path == "member"


def test_a_body_for_a_create_has_no_preconditions() -> None:
    names = Names("web", "prod")
    assert names.metadata(Kind.MEMBER, "x", version="", uid="u").keys() == {"name", "namespace", "labels"}
    replacing = names.metadata(Kind.MEMBER, "x", version="12", uid="u")
    assert (replacing["resourceVersion"], replacing["uid"]) == ("12", "u")
