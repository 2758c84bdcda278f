from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.configuration.config_file import load_config, parse_config
from shards.errors import ConfigError

HEAD = "fleet: web\ncontroller: websites:app\n"

REFUSED = {
    "an unknown field, with the nearest one": (
        "shards: {coutn: 3}",
        "shards.coutn: there is no such field; did you mean count?",
    ),
    "a field in the wrong section": (
        "leaseSeconds: 8",
        "leaseSeconds: there is no such field; did you mean coordination.leaseSeconds?",
    ),
    "a field in snake case": (
        "coordination: {lease_seconds: 8}",
        "coordination.lease_seconds: there is no such field; did you mean leaseSeconds?",
    ),
    "a field like no other": (
        "log: {colour: red}",
        "log.colour: there is no such field; known are level, format",
    ),
    "a unit": (
        "coordination: {leaseSeconds: 8s}",
        "coordination.leaseSeconds: '8s' is not a number; write seconds without a unit: 8",
    ),
    "another unit": (
        "gate: {liveReadAfterSeconds: 500ms}",
        "gate.liveReadAfterSeconds: '500ms' is not a number; write seconds without a unit: 0.5",
    ),
    "minutes": (
        "queue: {maxDelaySeconds: 5min}",
        "queue.maxDelaySeconds: '5min' is not a number; write seconds without a unit: 300",
    ),
    "a fraction of a shard": ("shards: {count: 1.5}", "shards.count: 1.5 is not a whole number"),
    "a switch where a number belongs": ("shards: {count: yes}", "shards.count: True is not a whole number"),
    "a number where text belongs": ("scope: {namespaces: [a, 1]}", "scope.namespaces[1]: 1 is not text"),
    "an empty section": ("shards:", "shards: nothing is not a mapping of fields"),
    "a misspelt word": (
        "shards: {partitionBy: namspace}",
        "shards.partitionBy: 'namspace' is not allowed; did you mean namespace?",
    ),
    "a backend that does not exist": (
        "coordination: {backend: etcd}",
        "coordination.backend: 'etcd' is not allowed; write one of kubernetes",
    ),
    "too few shards": ("shards: {count: 0}", "shards.count: 0 is out of bounds; write at least 1, at most 4096"),
    "a rate of nothing": (
        "client: {requestsPerSecond: 0}",
        "client.requestsPerSecond: 0 is out of bounds; write a number above 0",
    ),
    "a burst without a rate": (
        "client: {burst: 5, fleetRequestsPerSecond: 9}",
        "client.burst: means nothing without a rate; write client.requestsPerSecond too",
    ),
    "a limit of nothing": (
        "gate: {breaker: {destructiveLimit: 0}}",
        "gate.breaker.destructiveLimit: 0 is out of bounds; write at least 1",
    ),
    "a misspelt field of the breaker": (
        "gate: {breaker: {openSecond: 3}}",
        "gate.breaker.openSecond: there is no such field; did you mean openSeconds?",
    ),
    "a pause that outlasts the window": (
        "gate: {breaker: {windowSeconds: 5, openSeconds: 6}}",
        "gate.breaker.openSeconds: 6 is above windowSeconds (5): the window would be forgotten before the first probe;"
        " write at most 5",
    ),
    "statuses that wait before a live read settles anything": (
        "gate: {liveReadAfterSeconds: 3, statusStaleWindowSeconds: 2}",
        "gate.statusStaleWindowSeconds: 2 is below liveReadAfterSeconds (3); write the longer time here",
    ),
    "a delay of nothing": (
        "queue: {baseDelaySeconds: 0}",
        "queue.baseDelaySeconds: 0 is out of bounds; write a number above 0",
    ),
    "what is not a number": (
        "gate: {liveReadsPerSecond: .nan}",
        "gate.liveReadsPerSecond: nan is out of bounds; write a number above 0",
    ),
    "less memory than a worker has": (
        "workers: {memoryLimitMiB: 64}",
        "workers.memoryLimitMiB: 64 is less than a worker needs that holds nothing; write 0 for no limit of its own, or"
        " at least 128",
    ),
    "a share of nothing": (
        "workers: {recycleAtShare: 0}",
        "workers.recycleAtShare: 0 is out of bounds; write a number above 0, at most 1",
    ),
    "a lease that is too short": (
        "coordination: {leaseSeconds: 1}",
        "coordination.leaseSeconds: 1 is out of bounds; write at least 2, at most 600",
    ),
    "renewals that come too late": (
        "coordination: {leaseSeconds: 8, renewSeconds: 3.4}",
        "coordination.renewSeconds: twice 3.4 is not below the deadline of 6.8 seconds (leaseSeconds x 0.85), so that"
        " one lost renewal would stop a worker; write at most 2",
    ),
    "delays the wrong way round": (
        "queue: {baseDelaySeconds: 5, maxDelaySeconds: 1}",
        "queue.maxDelaySeconds: 1 is below baseDelaySeconds (5); write the longer delay here",
    ),
    "a worker that weighs nothing": (
        "workers: {weight: 0}",
        "workers.weight: 0 is out of bounds; write at least 0.01, at most 100",
    ),
    "a tolerance of nothing": (
        "rebalance: {tolerance: 0}",
        "rebalance.tolerance: 0 is out of bounds; write at least 0.01, at most 1",
    ),
    "a fence that does not exist": (
        "featureGates: {AdmissionFence: true}",
        "featureGates.AdmissionFence: this version has no admission fence, so that true would protect nothing;"
        " leave the field out",
    ),
    "a canary of nothing": (
        "canary: {controllers: [a]}",
        "canary.controllers: says where, but no feature is confined to it; name some, such as"
        " `canary.features: [VersionGate]`",
    ),
    "a canary of something else": (
        "canary: {features: [versionGates]}",
        "canary.features[0]: there is no feature gate 'versionGates'; did you mean VersionGate?",
    ),
    "a canary of what this version cannot do": (
        "canary: {features: [VersionGate, AdmissionFence]}",
        "canary.features[1]: this version does not have AdmissionFence, so that no part of the fleet could try it;"
        " leave it out",
    ),
    "no part of the shards": (
        "canary: {features: [VersionGate], shardFraction: 0}",
        "canary.shardFraction: 0 is no part of the shards; write a number above 0, at most 1,"
        " and switch a feature off everywhere in featureGates",
    ),
    "more than all shards": (
        "canary: {features: [VersionGate], shardFraction: 10}",
        "canary.shardFraction: 10 is no part of the shards; write a number above 0, at most 1,"
        " and switch a feature off everywhere in featureGates",
    ),
    "a part in percent": (
        "canary: {features: [VersionGate], shardFraction: 10%}",
        "canary.shardFraction: '10%' is not a number",
    ),
    "a part that is no number": (
        "canary: {features: [VersionGate], shardFraction: .nan}",
        "canary.shardFraction: nan is no part of the shards; write a number above 0, at most 1,"
        " and switch a feature off everywhere in featureGates",
    ),
    "a label that cannot be": (
        "canary: {features: [VersionGate], memberLabels: {'my track': canary}}",
        "canary.memberLabels: 'my track' is no name of a label; write letters, digits, '-', '_' and '.', at most 63,"
        " with a DNS name and '/' before them if need be",
    ),
    "a value that no label has": (
        "canary: {features: [VersionGate], memberLabels: {track: 'a b'}}",
        "canary.memberLabels: 'a b' is no value of a label; write letters, digits, '-', '_' and '.', at most 63",
    ),
    "a label that is a number": (
        "canary: {features: [VersionGate], memberLabels: {track: a, slot: 1}}",
        'canary.memberLabels.slot: 1 is not text; write it in quotes: "1"',
    ),
    "a label without a value": (
        "canary: {features: [VersionGate], memberLabels: {track: }}",
        "canary.memberLabels.track: nothing is not text",
    ),
    "both kinds of controllers": (
        "controllers: [a:b]",
        "controller: name exactly one of controller and controllers, such as `controller: websites:websites`",
    ),
    "a namespace that cannot be": (
        "scope: {namespaces: [My_Team]}",
        "scope.namespaces[0]: 'My_Team' is not the name of a namespace",
    ),
    "a field twice": ("fleet: other", "not valid YAML in line 3: the field 'fleet' is given twice"),
    "names that are not text": ("1: 2", "the names of fields must be text"),
}


@pytest.mark.parametrize(("text", "sentence"), REFUSED.values(), ids=REFUSED)
def test_it_refuses_with_path_and_remedy(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(HEAD + text)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the config must be a mapping of fields that begins with `fleet: <name>`"),
        ("controller: a:b", "fleet: this field is required"),
        ("fleet: [", "not valid YAML in line 1: expected the node content, but found '<stream end>'"),
        (
            "fleet: Web\ncontroller: a:b",
            "fleet: 'Web' is no name for a fleet; use lower-case letters, digits and dashes, at most 52 characters",
        ),
    ],
)
def test_it_refuses_a_file_without_its_essentials(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(text)
    assert str(caught.value) == sentence


def test_a_fleet_name_leaves_room_for_the_revision_label_of_its_statefulset() -> None:
    assert parse_config(f"fleet: {'a' * 52}\ncontroller: a:b").fleet == "a" * 52
    with pytest.raises(ConfigError, match="at most 52"):
        parse_config(f"fleet: {'a' * 53}\ncontroller: a:b")


@pytest.mark.parametrize(("word", "meant"), [("on", "on"), ("off", "off"), ("auto", "auto"), ("'off'", "off")])
def test_a_bare_switch_is_the_word_that_was_written(word: str, meant: str) -> None:
    config = parse_config(f"{HEAD}featureGates: {{ServerSideSharding: {word}, SlotLabels: {word}}}")
    assert config.feature_gates.server_side_sharding == config.feature_gates.slot_labels == meant


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"cannot read the config file {tmp_path}/none.yaml: No such file"):
        load_config(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        load_config(tmp_path / "bytes.yaml")


def test_the_example_is_valid() -> None:
    example = Path(__file__).parents[4] / "docs/examples/fleet.yaml"
    assert load_config(example).fleet == "websites"


@given(st.text(max_size=60))
def test_whatever_is_in_the_file_the_answer_is_a_config_or_a_config_error(text: str) -> None:
    with suppress(ConfigError):
        assert parse_config(text).fleet


def test_several_namespaces_may_be_given() -> None:
    config = parse_config("{fleet: web, controller: 'a:b', scope: {namespaces: [one, two]}}")
    assert config.scope.namespaces == ("one", "two")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("fleet: 2001-13-45\n", "put it in quotes"),
        (f"fleet: {'9' * 5000}\n", "put it in quotes"),
        ("fleet: !!timestamp x\n", "put it in quotes"),
        (f"fleet: {'[' * 2000}\n", "nested too deeply"),
        ('fleet: web\nshards: {partitionBy: "\\ud800"}\n', "half a character"),
        (f"fleet: web\ncontroller: a:b\nshards: {{count: {'9' * 400}}}\n", "out of bounds"),
    ],
    ids=["no date", "a long number", "a tag that lies", "deep", "a surrogate", "no float"],
)
def test_what_no_yaml_reader_expects_is_one_sentence_too(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse_config(text)


def test_a_list_that_aliases_make_endless_is_shown_in_short() -> None:
    lists = ["&a [x, x, x, x, x, x]"]
    lists += [f"&{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 6)}]" for n in range(12)]
    with pytest.raises(ConfigError, match="is not text") as refused:
        parse_config(f"fleet: web\ncontrollers: [a, [{', '.join(lists)}]]\n")
    assert len(str(refused.value)) < 1000
