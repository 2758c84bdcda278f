from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.errors import ConfigError
from tests.cluster import audit
from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, EPOCH, config_map

COLLECTION = CONFIG_MAPS.path("default")


async def logged(path: Path, level: str) -> list[dict[str, object]]:
    """The lines of a create, a refused create, a list and a delete."""
    settings = ServerSettings(audit_path=str(path), audit_level=level)
    server = ApiServer(settings, rng=random.Random(1), wall_seconds=lambda: EPOCH)
    body = msgspec.json.encode(config_map("a"))
    headers = {"content-type": "application/json", "user-agent": "fleet/0 m=a", "audit-id": "an-id"}
    for method, where, sent in (
        ("POST", COLLECTION, body),
        ("POST", COLLECTION, body),
        ("GET", COLLECTION, None),
        ("GET", "/healthz", None),
        ("DELETE", f"{COLLECTION}/a", None),
    ):
        await server.handle(method, where, [("limit", "5")] if method == "GET" else (), sent, headers)
    server.close()
    return list(map(msgspec.json.decode, lines_of(path)))


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


async def test_a_line_says_who_did_what_to_which_object(tmp_path: Path) -> None:
    lines = await logged(tmp_path / "audit", "Metadata")
    assert [(each["verb"], each["responseStatus"]) for each in lines] == [
        ("create", {"metadata": {}, "code": 201}),
        ("create", {"metadata": {}, "code": 409}),
        ("list", {"metadata": {}, "code": 200}),
        ("delete", {"metadata": {}, "code": 200}),
    ]
    first = lines[0]
    assert first["objectRef"] == {"resource": "configmaps", "namespace": "default", "name": "a", "apiVersion": "v1"}
    assert (first["auditID"], first["userAgent"], first["stage"]) == ("an-id", "fleet/0 m=a", "ResponseComplete")
    assert first["user"] == {"username": "system:admin", "groups": ["system:masters", "system:authenticated"]}
    assert first["stageTimestamp"] == "2023-11-14T22:13:20.000000Z"
    assert lines[2]["requestURI"] == f"{COLLECTION}?limit=5"
    assert all("requestObject" not in each for each in lines)


async def test_the_reader_of_a_real_server_s_log_reads_it(tmp_path: Path) -> None:
    lines = await logged(tmp_path / "audit", "RequestResponse")
    assert "responseObject" not in lines[2]
    entries = audit.read(tmp_path / "audit")
    assert [(each.verb, each.name, each.status, each.user_agent) for each in entries] == [
        ("create", "a", 201, "fleet/0 m=a"),
        ("create", "a", 409, "fleet/0 m=a"),
        ("delete", "a", 200, "fleet/0 m=a"),
    ]
    assert entries[0].uid == entries[2].uid != ""
    assert entries[2].removed


def test_a_level_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="audit_level"):
        ApiServer(ServerSettings(audit_path=str(tmp_path / "audit"), audit_level="Everything"))


async def test_bodies_of_secrets_and_tokens_are_in_no_line(tmp_path: Path) -> None:
    settings = ServerSettings(audit_path=str(tmp_path / "audit"), audit_level="RequestResponse")
    server = ApiServer(settings, rng=random.Random(1), wall_seconds=lambda: EPOCH)
    secret = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "stringData": {"a": "hunter2"}}
    headers = {"content-type": "application/json"}
    for path, body in (
        ("/api/v1/namespaces/default/secrets", secret),
        ("/apis/authentication.k8s.io/v1/tokenreviews", {"kind": "TokenReview", "spec": {"token": "hunter2"}}),
    ):
        await server.handle("POST", path, (), msgspec.json.encode(body), headers)
    server.close()
    assert len(lines_of(tmp_path / "audit")) == 2
    assert b"hunter2" not in (tmp_path / "audit").read_bytes()
    assert b"aHVudGVyMg" not in (tmp_path / "audit").read_bytes()
