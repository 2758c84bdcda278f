from __future__ import annotations

import asyncio
import logging
import random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from fleet.devcluster.doors.http import HttpDoor, serve
from fleet.devcluster.recording.journal import Level
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.wire.answers import Answer
from tests.unit.fleet.devcluster.oddrequests import ANY, REQUESTS, OddRequest

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


async def made() -> ApiServer:
    server = ApiServer(rng=random.Random(1), recorder=Recorder(level=Level.BODIES))
    for path, body in (("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", ODD), *HERE):
        assert (await server.handle("POST", path, (), msgspec.json.encode(body))).status == 201
    return server


def is_fault(answer: Answer) -> bool:
    """Whether the server is to blame. A 500 without a reason is a plain Go error, which the real server gives too."""
    return answer.status >= 500 and answer.status not in FINE and (answer.status != 500 or b"reason" in answer.body)


async def play(requests: list[OddRequest]) -> None:
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


@settings(max_examples=80, derandomize=True, suppress_health_check=list(HealthCheck))
@given(requests=REQUESTS)
def test_no_request_makes_the_server_fail(caplog: pytest.LogCaptureFixture, requests: list[OddRequest]) -> None:
    caplog.clear()
    asyncio.run(play(requests))
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


def raw_of(request: OddRequest) -> bytes:
    """The bytes of a request, with everything in it as it is."""
    method, path, query, body, headers = request
    target = path + ("?" + "&".join(f"{name}={value}" for name, value in query) if query else "")
    lines = [f"{method} {target} HTTP/1.1", "Host: odd", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


async def answer_to(door: HttpDoor, raw: bytes) -> bytes:
    """What comes back until the server closes, or after the first bytes of a stream."""
    reader, writer = await asyncio.open_connection(door.host, door.port)
    writer.write(raw)
    head = await reader.readuntil(b"\r\n\r\n")
    rest = b"" if b"chunked" in head else await reader.read()
    writer.close()
    return head + rest


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@settings(max_examples=60, derandomize=True, suppress_health_check=list(HealthCheck))
@given(request=ANY)
def test_no_request_makes_the_door_fail(caplog: pytest.LogCaptureFixture, request: OddRequest) -> None:
    async def ask() -> bytes:
        door = await serve(await made())
        try:
            return await answer_to(door, raw_of(request))
        finally:
            await door.close()

    caplog.clear()
    answer = asyncio.run(ask())
    assert not is_fault(Answer(status_of(answer), answer)), answer[:500]
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


MAPS = "/api/v1/namespaces/default/configmaps"
MAP = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}'


def request(target: str, *lines: str, method: str = "GET", body: bytes = b"") -> bytes:
    head = "\r\n".join((f"{method} {target} HTTP/1.1", "Host: odd", "Connection: close", *lines, "", ""))
    return head.encode("latin-1") + body


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (request("//api"), 404),
        (request("//api/v1/pods"), 404),
        (request("/apis//"), 404),
        (request("/healthz/"), 404),
        (request("/version/x"), 404),
        (request("/%zz"), 400),
        (request("/api/v1/namespaces/%2"), 400),
        (request("/api/v1/namespaces/%ff"), 404),
        (request("/api/v1/namespaces/.."), 400),
        (request("/api/v1/namespaces/a%25b"), 400),
        (request("/api/v1/namespaces/" + "a" * 70_000), 404),
        (request("http://elsewhere/api/v1/namespaces/default"), 200),
        (request("https://elsewhere?x=1"), 404),
        (request("api"), 400),
        (request(MAPS + "?limit=" + "9" * 5000), 400),
        (request(MAPS + "?limit=%205"), 400),
        (request(MAPS + "?limit=1_0"), 400),
        (request(MAPS + "?limit=%2B5"), 200),
        (request(MAPS + "?limit=1&limit=x"), 200),
        (request(MAPS + "?resourceVersion=" + "9" * 5000), 400),
        (request(MAPS + "?labelSelector=a%3E" + "9" * 5000), 400),
        (request(MAPS, "User-Agent: \xff"), 200),
        (request(MAPS, "Authorization: Bearer \xff"), 200),
        (request(MAPS, "X: " + "a" * 100_000), 200),
        (request(MAPS, "Content-Length: -5"), 400),
        (request(MAPS, "Content-Length: 7", body=b"no JSON"), 200),
        (
            request(
                MAPS,
                f"Content-Length: {len(MAP)}",
                "Content-Type: application/json",
                "User-Agent: \xff",
                method="POST",
                body=MAP,
            ),
            201,
        ),
        (
            request(
                MAPS,
                f"Content-Length: {len(MAP)}",
                "Content-Type: application/json",
                "Content-Encoding: gzip",
                method="POST",
                body=MAP,
            ),
            201,
        ),
        (request(MAPS, "Transfer-Encoding: chunked", method="POST", body=b"zz\r\n"), 400),
        (request("/api/v1/namespaces", method="DELETE"), 405),
        (b"\x00\x01\r\n\r\n", 400),
    ],
    ids=lambda value: repr(value)[:60] if isinstance(value, bytes) else "",
)
async def test_odd_lines_and_headers_are_answered_as_the_real_server_does(
    raw: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    door = await serve(await made())
    answer = await answer_to(door, raw)
    await door.close()
    assert status_of(answer) == status, answer
    if status == 400 and b"application/json" not in answer:
        assert answer.endswith(b"400 Bad Request")
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


@pytest.mark.parametrize(("name", "status"), [("default", 403), ("kube-system", 403), ("kube-public", 403)])
async def test_namespaces_that_every_cluster_has_stay(name: str, status: int) -> None:
    server = await made()
    answer = await server.handle("DELETE", f"/api/v1/namespaces/{name}")
    body = msgspec.json.decode(answer.body)
    assert (answer.status, body["reason"], body["details"]) == (403, "Forbidden", {"name": name, "kind": "namespaces"})
    assert body["message"] == f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    assert (await server.handle("DELETE", "/api/v1/namespaces/kube-node-lease")).status == 200


@pytest.mark.parametrize(
    ("path", "content_type", "body", "message"),
    [
        (MAPS, "application/json", b'{"x":' + b"[" * 10_001, "invalid character '[' exceeded max depth"),
        (MAPS, "application/json", b'{"a":' * 20_000, "invalid character '{' exceeded max depth"),
        (MAPS, "application/yaml", b"- " * 20_000, "yaml: exceeded max depth of 10000"),
        (MAPS, "application/yaml", b"a: &a [*a]", "yaml: line 1: found unconstructable recursive node"),
        (f"{MAPS}/a", "application/merge-patch+json", b"[" * 20_000, "invalid JSON patch"),
        (f"{MAPS}/a", "application/apply-patch+yaml", b'{"a":' * 20_000, "yaml: exceeded max depth of 10000"),
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json", b"[" * 20_000, "max depth"),
        ("/apis/odd.example/v1/namespaces/default/things", "application/json", b"[" * 20_000, "max depth"),
    ],
)
async def test_bodies_that_are_nested_too_deeply_are_refused(
    path: str, content_type: str, body: bytes, message: str
) -> None:
    server = await made()
    method = "PATCH" if "patch" in content_type else "POST"
    answer = await server.handle(method, path, [("fieldManager", "a")], body, {"content-type": content_type})
    found = msgspec.json.decode(answer.body)
    assert (answer.status, found["reason"]) == (400, "BadRequest")
    assert message in found["message"]


async def test_a_body_as_deep_as_allowed_is_stored_and_shown_in_every_way() -> None:
    server = await made()
    things = "/apis/odd.example/v1/namespaces/default/things"
    deep = b'{"a":' * 198 + b"1" + b"}" * 198
    body = b'{"kind":"Thing","apiVersion":"odd.example/v1","metadata":{"name":"a"},"spec":' + deep + b"}"
    for method, name, content_type in (
        ("POST", "a", "application/json"),
        ("POST", "b", "application/yaml"),
        ("PATCH", "a", "application/merge-patch+json"),
        ("PATCH", "c", "application/apply-patch+yaml"),
    ):
        sent = body.replace(b'"name":"a"', f'"name":"{name}"'.encode())
        path = things if method == "POST" else f"{things}/{name}"
        answer = await server.handle(method, path, [("fieldManager", "a")], sent, {"content-type": content_type})
        assert answer.status in (200, 201), answer.body[:300]
    for accept in ("application/json", "application/yaml", "application/json;as=Table;g=meta.k8s.io;v=v1"):
        assert (await server.handle("GET", things, (), None, {"accept": accept})).status == 200


async def test_copies_into_copies_do_not_grow_without_end() -> None:
    server = await made()
    path = "/apis/odd.example/v1/namespaces/default/things"
    body = {"kind": "Thing", "apiVersion": "odd.example/v1", "metadata": {"name": "a"}, "spec": {"a": {}}}
    headers = {"content-type": "application/json"}
    assert (await server.handle("POST", path, (), msgspec.json.encode(body), headers)).status == 201
    patch = msgspec.json.encode([{"op": "copy", "from": "/spec", "path": "/spec/a"}])
    seen = set()
    for _ in range(260):
        answer = await server.handle("PATCH", f"{path}/a", (), patch, {"content-type": "application/json-patch+json"})
        seen.add(answer.status)
    assert seen <= {200, 422}


async def test_a_body_beyond_the_limit_is_refused_in_process_too() -> None:
    server = await made()
    for size, status in ((3 * 1024 * 1024, 400), (3 * 1024 * 1024 + 1, 413)):
        answer = await server.handle("POST", MAPS, (), b" " * size, {"content-type": "application/json"})
        assert answer.status == status


async def test_what_grows_too_deep_on_its_way_is_refused_and_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    server = await made()

    def deep(*_: object) -> Answer:
        raise RecursionError

    monkeypatch.setattr("fleet.devcluster.reads.reading.Reading.list", deep)
    answer = await server.handle("GET", MAPS)
    assert (answer.status, msgspec.json.decode(answer.body)["message"]) == (400, "exceeded max depth")
    assert server.recorder is not None
    assert server.recorder.entries[-1].status == 400


async def test_delete_options_that_are_nested_too_deeply_are_refused_and_recorded() -> None:
    server = await made()
    answer = await server.handle("DELETE", f"{MAPS}/a", (), b'{"preconditions":' * 20_000, {})
    assert answer.status == 400
    assert server.recorder is not None
    assert (server.recorder.entries[-1].verb, server.recorder.entries[-1].status) == ("delete", 400)
