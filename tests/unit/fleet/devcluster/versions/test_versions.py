"""Built-in resources with two versions on one store."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from fleet.devcluster.reads.reading import Reading
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.wire.answers import Answer

OLD, NEW = "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"
V1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
V2 = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
JSON = {"content-type": "application/json"}


@pytest.fixture
def server() -> ApiServer:
    return ApiServer()


async def ask(server: ApiServer, method: str, path: str, body: Any = None, query: Any = ()) -> dict[str, Any]:
    raw = None if body is None else msgspec.json.encode(body)
    answer = await server.handle(method, path, query, raw, JSON)
    found: dict[str, Any] = msgspec.json.decode(answer.body)
    return found


async def test_an_event_of_one_group_is_read_through_the_other(server: ApiServer) -> None:
    event = {"metadata": {"name": "a"}, "involvedObject": {"name": "p"}, "message": "hello", "count": 3}
    await ask(server, "POST", OLD, event)
    found = await ask(server, "GET", f"{NEW}/a")
    assert (found["apiVersion"], found["regarding"]) == ("events.k8s.io/v1", {"name": "p"})
    assert (found["note"], found["deprecatedCount"]) == ("hello", 3)
    assert "message" not in found


async def test_field_selectors_of_events_have_the_names_of_their_group(server: ApiServer) -> None:
    await ask(server, "POST", OLD, {"metadata": {"name": "a"}, "involvedObject": {"name": "p"}})
    assert len((await ask(server, "GET", NEW, query=[("fieldSelector", "regarding.name=p")]))["items"]) == 1
    assert (await ask(server, "GET", NEW, query=[("fieldSelector", "involvedObject.name=p")]))["code"] == 400


async def test_events_of_the_new_group_are_judged_strictly(server: ApiServer) -> None:
    assert (await ask(server, "POST", NEW, {"metadata": {"name": "a"}}))["code"] == 422
    assert (await ask(server, "POST", OLD, {"metadata": {"name": "a"}, "involvedObject": {}}))["kind"] == "Event"


async def test_an_autoscaler_of_v1_is_stored_as_a_metric_of_v2(server: ApiServer) -> None:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3}
    made = await ask(server, "POST", V1, {"metadata": {"name": "a"}, "spec": spec})
    assert made["spec"]["targetCPUUtilizationPercentage"] == 80
    found = await ask(server, "GET", f"{V2}/a")
    assert found["spec"]["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 80}


async def test_what_v1_does_not_know_survives_a_write_through_it(server: ApiServer) -> None:
    target = {"type": "AverageValue", "averageValue": "10Mi"}
    metrics = [{"type": "Resource", "resource": {"name": "memory", "target": target}}]
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3, "metrics": metrics}
    await ask(server, "POST", V2, {"metadata": {"name": "a"}, "spec": spec})
    shown = await ask(server, "GET", f"{V1}/a")
    shown["spec"]["maxReplicas"] = 5
    await ask(server, "PUT", f"{V1}/a", shown)
    found = await ask(server, "GET", f"{V2}/a")
    assert (found["spec"]["maxReplicas"], found["spec"]["metrics"]) == (5, metrics)
    assert "annotations" not in found["metadata"]


async def test_a_server_begins_with_the_objects_of_the_real_one(server: ApiServer) -> None:
    assert (await ask(server, "GET", "/api/v1/namespaces/default/services/kubernetes"))["kind"] == "Service"
    bare = ApiServer(ServerSettings(default_objects=False))
    assert (await ask(bare, "GET", "/api/v1/services"))["items"] == []


async def test_a_watch_with_a_negative_timeout_is_empty(server: ApiServer) -> None:
    answer = await server.handle("GET", "/api/v1/namespaces", [("watch", "true"), ("timeoutSeconds", "-1")])
    assert answer.stream is not None
    assert await answer.stream.read() == b""


async def test_a_fault_of_the_server_is_an_internal_error_that_is_logged_once(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> Answer:
        raise RuntimeError("out of order")

    monkeypatch.setattr(Reading, "get", broken)
    with caplog.at_level(logging.ERROR):
        found = await ask(server, "GET", "/api/v1/namespaces/default")
    assert (found["code"], found["reason"]) == (500, "InternalError")
    assert found["message"] == "Internal error occurred: out of order"
    assert [bool(each.exc_info) for each in caplog.records] == [True]
