"""Audit lines become a journal in commit order, whatever order they were written in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from fleet.devcluster.recording.journal import Sent
from tests.cluster import audit


def line(
    verb: str,
    name: str,
    *,
    at: float,
    version: int = 0,
    status: int = 200,
    uid: str = "",
    owner: str = "",
    uri: str = "",
    stage: str = "ResponseComplete",
    resource: str = "configmaps",
    subresource: str = "",
    metadata: Mapping[str, Any] = MappingProxyType({}),
    answer: dict[str, Any] | None = None,
    answer_status: dict[str, Any] | None = None,
) -> bytes:
    """One finished write. at: seconds after noon. version 0: answered with a Status, unless `answer` says otherwise."""
    if answer is None and version:
        answer = {"metadata": {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(version), **metadata}}
        if owner:
            answer["metadata"]["ownerReferences"] = [{"uid": owner, "controller": True}]
        if answer_status is not None:
            answer["status"] = answer_status
    elif answer is None:
        answer = {"kind": "Status", "metadata": {}, "details": {"name": name, "uid": uid or f"uid-{name}"}}
    event = {
        "stage": stage,
        "verb": verb,
        "requestURI": uri or "/api/v1/namespaces/n/configmaps",
        "userAgent": "fleet/0 m=a",
        "objectRef": {
            "resource": resource,
            "namespace": "n",
            "name": name,
            "apiVersion": "v1",
            "subresource": subresource,
        },
        "responseStatus": {"code": status},
        "responseObject": answer,
        "requestReceivedTimestamp": "2026-01-01T12:00:00.000000Z",
        "stageTimestamp": f"2026-01-01T12:00:{at:09.6f}Z",
    }
    return json.dumps(event).encode() + b"\n"


def order(*lines: bytes) -> list[tuple[str, str]]:
    return [(entry.verb, entry.name) for entry in audit.journal(lines)]


def test_versions_decide_where_the_clock_says_otherwise() -> None:
    lines = [line("update", "a", at=2, version=9), line("create", "b", at=1, version=10)]

    assert order(*lines) == [("update", "a"), ("create", "b")]


def test_a_write_that_was_answered_late_is_no_later_than_what_was_committed_after_it() -> None:
    """Notes of workers are put between the entries by time: the claim that such a write held up came too late."""
    claim, early = line("update", "claim", at=1.0, version=13), line("update", "early", at=1.5, version=12)
    late = line("update", "late", at=2.0, version=14)
    times = {entry.name: entry.time for entry in audit.journal([early, claim, late])}
    assert times["early"] == times["claim"]
    assert times["late"] == times["claim"] + 1.0


def test_versions_are_compared_as_numbers() -> None:
    assert order(line("update", "a", at=1, version=100), line("update", "b", at=2, version=99))[0] == ("update", "b")


def test_a_deletion_comes_behind_every_write_that_was_finished_before_it() -> None:
    lines = [
        line("delete", "a", at=2),
        line("create", "b", at=3, version=12),
        line("create", "c", at=1, version=11),
    ]

    assert order(*lines) == [("create", "c"), ("delete", "a"), ("create", "b")]


def test_a_deletion_comes_behind_the_last_write_of_its_object_even_when_that_was_answered_later() -> None:
    lines = [line("delete", "a", at=2), line("update", "a", at=3, version=12)]

    assert order(*lines) == [("update", "a"), ("delete", "a")]


def test_a_write_that_changed_nothing_stands_where_it_was_finished_not_where_its_version_was_made() -> None:
    lines = [
        line("update", "a", at=1, version=11),
        line("update", "b", at=2, version=12),
        line("patch", "a", at=3, version=11),
    ]

    assert order(*lines) == [("update", "a"), ("update", "b"), ("patch", "a")]


def test_failures_are_kept_with_their_status() -> None:
    ok, failed = audit.journal(
        [line("create", "a", at=1, version=5, status=201), line("create", "a", at=2, status=409)]
    )

    assert (ok.status, failed.status) == (201, 409)
    assert (ok.resource_version, failed.resource_version) == ("5", "")


def test_the_objects_of_leases_and_maps_are_kept_and_no_others() -> None:
    lines = [line("create", name, at=1, version=version) for name, version in (("web-map", 5), ("other", 6))]

    entries = audit.journal([*lines, line("update", "l", at=3, version=7, resource="leases")])

    assert [(entry.decoded() or {}).get("metadata", {}).get("name") for entry in entries] == ["web-map", None, "l"]


def test_a_deletion_that_is_answered_with_a_status_removed_the_object_at_its_last_version() -> None:
    *_, entry = audit.journal([line("update", "a", at=1, version=11), line("delete", "a", at=2)])

    assert (entry.removed, entry.uid, entry.resource_version) == (True, "uid-a", "11")


def test_a_deletion_that_waits_for_finalizers_removed_nothing_until_the_last_is_gone() -> None:
    dying = {"deletionTimestamp": "2026-01-01T12:00:00Z"}

    marked, released = audit.journal(
        [
            line("delete", "a", at=1, version=11, metadata={**dying, "finalizers": ["f/f"]}),
            line("update", "a", at=2, version=11, metadata=dying),
        ]
    )

    assert (marked.verb, marked.removed) == ("delete", False)
    assert (released.verb, released.removed) == ("update", True)


def test_a_collection_that_is_deleted_becomes_one_entry_an_object() -> None:
    objects = [{"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "5"}} for name in "ab"]
    lines = [line("deletecollection", "", at=3, answer={"metadata": {}, "items": objects})]

    entries = audit.journal([line("create", "c", at=1, version=9), *lines])

    assert [(entry.verb, entry.name, entry.removed) for entry in entries] == [
        ("create", "c", False),
        ("deletecollection", "a", True),
        ("deletecollection", "b", True),
    ]


def test_status_writes_carry_a_digest_that_tells_equal_ones_from_different_ones() -> None:
    lines = [
        line("patch", "a", at=at, version=at + 5, subresource="status", answer_status={"ready": ready})
        for at, ready in ((1, True), (2, True), (3, False))
    ]

    first, same, other = (entry.content for entry in audit.journal(lines))

    assert first == same != other


def test_a_failed_delete_is_no_reason_to_wait_for_later_writes_of_the_object() -> None:
    lines = [line("delete", "a", at=1, status=409), line("update", "a", at=2, version=12)]

    assert order(*lines) == [("delete", "a"), ("update", "a")]


def test_entries_are_numbered_and_name_their_controller_owner() -> None:
    entries = audit.journal(
        [line("create", "a", at=1, version=5), line("create", "b", at=2, version=6, owner="website-1")]
    )

    assert [(entry.seq, entry.owner_uid) for entry in entries] == [(1, ""), (2, "website-1")]
    assert entries[1].time - entries[0].time == pytest.approx(1.0)


def test_gets_stand_where_they_were_finished_and_remove_nothing() -> None:
    dying = {"deletionTimestamp": "2026-01-01T12:00:00Z"}

    _, entry, _ = audit.journal(
        [
            line("update", "a", at=1, version=11),
            line("update", "b", at=3, version=12),
            line("get", "a", at=2, version=5, metadata=dying),
        ]
    )

    assert (entry.verb, entry.uid, entry.resource_version, entry.removed) == ("get", "uid-a", "5", False)


def test_the_preconditions_of_a_fleets_writes_are_kept() -> None:
    event = json.loads(line("delete", "a", at=1))
    event["requestObject"] = {"kind": "DeleteOptions", "preconditions": {"uid": "u", "resourceVersion": "7"}}

    [entry] = audit.journal([json.dumps(event).encode() + b"\n"])

    assert entry.sent == Sent(uid="u", version="7")


def test_lists_and_dry_runs_and_other_stages_are_left_out() -> None:
    lines = [
        line("list", "", at=1),
        line("create", "a", at=1, version=4, uri="/api/v1/namespaces/n/configmaps?dryRun=All"),
        line("create", "a", at=1, version=4, stage="ResponseStarted"),
    ]

    assert order(*lines) == []
