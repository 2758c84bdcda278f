from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from fleet.devcluster.faults import Events, Match
from fleet.devcluster.faults.documents import WORDS, read_fault, read_faults, written
from fleet.devcluster.faults.words import Cut, DelayEvents, Fault, HideEvents, Partition, Refuse, Word
from shards.errors import ConfigError


def test_a_fault_is_read_from_its_document() -> None:
    document = {"fault": "delay_events", "match": {"member": "b", "verbs": ["watch"]}, "seconds": 5, "times": 2}
    assert read_fault(document) == DelayEvents(match=Match(member="b", verbs=("watch",)), seconds=5.0, times=2)


def test_every_word_has_a_sentence_and_a_name_of_its_own() -> None:
    assert len(WORDS) == len(get_args(Word))
    assert all((kind.__doc__ or "").strip().endswith(".") for kind in WORDS.values())


@pytest.mark.parametrize(
    "fault",
    [
        Cut(match=Match(user_agent="x"), after_bytes=7, inside_character=True),
        HideEvents(events=Events(first_version=3, last_version=9), times=1, probability=0.5),
        Partition(way="to_client", from_seconds=1.0, until_seconds=2.0),
        Refuse(status=429, retry_after_seconds=1),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_what_is_written_reads_the_same(fault: Word) -> None:
    assert read_fault(msgspec.json.decode(msgspec.json.encode(written(fault)))) == fault


def test_what_is_default_is_not_written() -> None:
    assert written(Cut(after_bytes=7)) == {"fault": "cut", "after_bytes": 7}


@pytest.mark.parametrize(
    ("document", "field", "said"),
    [
        ({"fault": "lost_ak"}, "fault", "did you mean lost_ack"),
        ({}, "fault", "is no fault"),
        ([], "", "write a mapping"),
        ({"fault": "cut", "after": 3}, "after", "did you mean after_bytes"),
        ({"fault": "delay_answers"}, "seconds", "required"),
        ({"fault": "delay_answers", "seconds": -1}, "seconds", "at least 0"),
        ({"fault": "delay_answers", "seconds": "5s"}, "seconds", "expected"),
        ({"fault": "refuse", "status": 200}, "status", "400 to 599"),
        ({"fault": "partition", "way": "up"}, "way", "up"),
        ({"fault": "slice", "piece_bytes": 0}, "piece_bytes", "at least 1"),
        ({"fault": "cut", "fraction": 2}, "fraction", "0 to 1"),
        ({"fault": "lost_ack", "times": -1}, "times", "negative"),
        ({"fault": "lost_ack", "probability": 1.5}, "probability", "0 to 1"),
        ({"fault": "lost_ack", "from_seconds": 2, "until_seconds": 1}, "until_seconds", "not after"),
        ({"fault": "lost_ack", "match": {"verbs": ["read"]}}, "match.verbs[0]", "read"),
        ({"fault": "lost_ack", "match": {"resource": "Pods"}}, "match.resource", "is no resource"),
        ({"fault": "lost_ack", "match": {"agent": "x"}}, "match.agent", "no such field"),
        ({"fault": "hide", "events": {"first_version": 5, "last_version": 4}}, "events.last_version", "before"),
        ({"fault": "hide", "events": {"types": ["GONE"]}}, "events.types[0]", "GONE"),
        ({"fault": "hide", "events": {"first_version": -1}}, "events.first_version", "no resourceVersion"),
        ({"fault": ["cut"]}, "fault", "is no fault"),
        ({"fault": "cut", 1: 2}, "", "1 is no name of a field"),
        ({"fault": "cut", "after_bytes": 9, "fraction": 0.5}, "fraction", "one of the two"),
        ({"fault": "lost_ack", "times": 10**30}, "times", "too large"),
        ({"fault": "slice", "piece_bytes": 10**30}, "piece_bytes", "too large"),
        ({"fault": "stale_replica"}, "replica", "lag_seconds or frozen"),
        ({"fault": "stale_replica", "frozen": True, "lag_seconds": 1}, "lag_seconds", "one of the two"),
        ({"fault": "stale_replica", "lag_seconds": -1}, "lag_seconds", "at least 0"),
        ({"fault": "clock", "times": 1}, "times", "leave it out"),
        ({"fault": "clock", "probability": 0.5}, "probability", "leave it out"),
        ({"fault": "clock", "match": {"member": "a", "verbs": ["get"]}}, "match", "match.member and nothing else"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(document: object, field: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        read_fault(document)
    assert raised.value.path == field


def test_a_wrong_fault_of_a_list_is_named_by_its_place() -> None:
    with pytest.raises(ConfigError) as raised:
        read_faults([{"fault": "cut"}, {"fault": "cut", "times": -1}])
    assert raised.value.path == "[1].times"


def test_faults_made_in_python_are_checked_alike() -> None:
    with pytest.raises(ConfigError, match="verbs"):
        Match(verbs=("read",))  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ConfigError, match="way"):
        Partition(way="up")  # type: ignore[arg-type]  # wrong on purpose


def test_the_page_about_faults_names_every_word_with_its_fields() -> None:
    page = (Path(__file__).parents[5] / "docs/faults.md").read_text()
    rows = {
        word: set(re.findall(r"`(\w+)`", fields))
        for word, fields in re.findall(r"^\| `(\w+)` \| (.*?) ?\|", page, re.M)
    }
    common = {field.name for field in msgspec.structs.fields(Fault)}
    own = {word: {each.name for each in msgspec.structs.fields(kind)} - common for word, kind in WORDS.items()}
    assert {word: rows.get(word) for word in own} == own
