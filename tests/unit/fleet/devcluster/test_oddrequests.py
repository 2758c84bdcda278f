from __future__ import annotations

import asyncio
import logging
import random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet.devcluster.answers import Answer
from fleet.devcluster.journal import Level
from fleet.devcluster.recorder import Recorder
from fleet.devcluster.requests import Query
from fleet.devcluster.server import ApiServer
from tests.unit.fleet.devcluster.oddrequests import BODIES, HEADERS, METHODS, PATHS, QUERIES

ODD = {
    "kind": "CustomResourceDefinition",
    "apiVersion": "apiextensions.k8s.io/v1",
    "metadata": {"name": "things.odd.example"},
    "spec": {
        "group": "odd.example",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
HERE = (
    ("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "here"}}),
    (
        "/api/v1/namespaces/default/pods",
        {"metadata": {"name": "here"}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
    ),
)
FINE = (501, 504)
"""What is left out, and a version that this server has not reached."""

REQUESTS = st.lists(
    st.tuples(st.sampled_from(METHODS), PATHS, QUERIES, BODIES, HEADERS), min_size=1, max_size=5
)


async def made() -> ApiServer:
    server = ApiServer(rng=random.Random(1), recorder=Recorder(level=Level.BODIES))
    for path, body in (("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", ODD), *HERE):
        assert (await server.handle("POST", path, (), msgspec.json.encode(body))).status == 201
    return server


def is_fault(answer: Answer) -> bool:
    """Whether the server is to blame. A 500 without a reason is a plain Go error, which the real server gives too."""
    if answer.status < 500 or answer.status in FINE:
        return False
    body = msgspec.json.decode(answer.body) if answer.content_type == "application/json" else {}
    return answer.status != 500 or "reason" in body or not body


async def play(requests: list[tuple[str, str, Query, bytes | None, dict[str, str]]]) -> None:
    server = await made()
    for method, path, query, body, headers in requests:
        answer = await server.handle(method, path, query, body, headers)
        assert not is_fault(answer), (answer.status, answer.body[:300])
        if answer.stream is not None:
            answer.stream.close()
            while await answer.stream.read():
                pass
    await server.collect_garbage()
    for collection in ("configmaps", "pods", "services", "namespaces"):
        listed = await server.handle("GET", f"/api/v1/{collection}", (), None, {"accept": "application/yaml"})
        assert listed.status == 200
    server.close()


@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(requests=REQUESTS)
def test_no_request_makes_the_server_fail(
    caplog: pytest.LogCaptureFixture, requests: list[tuple[str, str, Query, bytes | None, dict[str, str]]]
) -> None:
    caplog.clear()
    asyncio.run(play(requests))
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []
