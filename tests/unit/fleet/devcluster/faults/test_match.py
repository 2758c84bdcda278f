from __future__ import annotations

import pytest

from fleet.devcluster.faults import Events, Match
from fleet.devcluster.faults.match import Asked, event_in
from fleet.devcluster.wire.requests import Request

PODS = "/api/v1/namespaces/ns/pods"


def asked(
    method: str, path: str, *, agent: str = "", body: bytes | None = None, watch: bool = False, token: str = ""
) -> Asked:
    query = [*([("watch", "true")] if watch else []), *([("continue", token)] if token else [])]
    return Asked(Request(method, path, query, body, {"user-agent": agent}))


@pytest.mark.parametrize(
    ("match", "request_", "admitted"),
    [
        (Match(), asked("GET", "/version"), True),
        (Match(resource="v1/pods"), asked("GET", "/version"), False),
        (Match(resource="v1/pods"), asked("GET", PODS), True),
        (Match(resource="v1/secrets"), asked("GET", PODS), False),
        (Match(resource="apps/v1/deployments"), asked("GET", "/apis/apps/v1/deployments"), True),
        (Match(verbs=("list",)), asked("GET", PODS), True),
        (Match(verbs=("list",)), asked("GET", PODS, watch=True), False),
        (Match(verbs=("watch", "get")), asked("GET", PODS, watch=True), True),
        (Match(verbs=("deletecollection",)), asked("DELETE", PODS), True),
        (Match(verbs=("get",)), asked("GET", "/version"), True),
        (Match(namespace="ns"), asked("GET", PODS), True),
        (Match(namespace="other"), asked("GET", PODS), False),
        (Match(name="a"), asked("PATCH", f"{PODS}/a"), True),
        (Match(name="a"), asked("PATCH", f"{PODS}/b"), False),
        (Match(name="a"), asked("POST", PODS, body=b'{"metadata":{"name":"a"}}'), True),
        (Match(subresource="status"), asked("PATCH", f"{PODS}/a/status"), True),
        (Match(subresource="status"), asked("PATCH", f"{PODS}/a"), False),
        (Match(user_agent="ctl"), asked("GET", PODS, agent="kubectl/1"), True),
        (Match(user_agent="ctl"), asked("GET", PODS, agent="other"), False),
        (Match(member="b"), asked("GET", PODS, agent="fleet/0 m=b e=1"), True),
        (Match(member="b"), asked("GET", PODS, agent="fleet/0 m=bb e=1"), False),
        (Match(member="b"), asked("GET", PODS, agent="kubectl m=b"), False),
        (Match(continues=True), asked("GET", PODS, token="next"), True),
        (Match(continues=True), asked("GET", PODS), False),
        (Match(continues=True), asked("GET", PODS, watch=True, token="next"), False),
        (Match(continues=True), asked("GET", f"{PODS}/a", token="next"), False),
    ],
)
def test_a_match_admits_what_all_its_fields_admit(match: Match, request_: Asked, admitted: bool) -> None:
    assert match.admits(request_) is admitted


def line(kind: str, name: str = "a", version: str = "7") -> bytes:
    body = f'{{"metadata":{{"name":"{name}","namespace":"ns","resourceVersion":"{version}"}}}}'
    return f'{{"type":"{kind}","object":{body}}}\n'.encode()


@pytest.mark.parametrize(
    ("events", "given", "admitted"),
    [
        (Events(), line("ADDED"), True),
        (Events(), line("BOOKMARK", ""), False),
        (Events(types=("BOOKMARK",)), line("BOOKMARK", ""), True),
        (Events(types=("DELETED",)), line("ADDED"), False),
        (Events(name="b"), line("ADDED"), False),
        (Events(namespace="ns"), line("ADDED"), True),
        (Events(namespace="other"), line("ADDED"), False),
        (Events(first_version=7, last_version=7), line("ADDED"), True),
        (Events(first_version=8), line("ADDED"), False),
        (Events(last_version=6), line("ADDED"), False),
    ],
)
def test_events_admit_what_all_their_fields_admit(events: Events, given: bytes, admitted: bool) -> None:
    event = event_in(given)
    assert event is not None
    assert events.admit(event) is admitted


def test_a_line_that_is_no_event_is_none() -> None:
    assert event_in(b"\x00\x01\n") is None
