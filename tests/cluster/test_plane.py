"""The test cluster is what the other tests take it for."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from shards.keyrange import SPACE, fnv1a64
from tests.cluster import audit
from tests.cluster.build import ensure
from tests.cluster.plane import ControlPlane
from tests.cluster.server import Server, StartFailed

LOWER_HALF = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"


def config_maps(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps" + (f"/{name}" if name else "")


def make_config_maps(plane: ControlPlane, namespace: str, count: int) -> None:
    plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    for number in range(count):
        plane.request("POST", config_maps(namespace), {"metadata": {"name": f"c{number}"}})


def listing(plane: ControlPlane, namespace: str, shard_selector: str = "") -> dict[str, Any]:
    query = f"?shardSelector={quote(shard_selector)}" if shard_selector else ""
    found: dict[str, Any] = json.loads(plane.request("GET", config_maps(namespace) + query))
    return found


def uids(found: dict[str, Any]) -> set[str]:
    return {item["metadata"]["uid"] for item in found["items"]}


def test_with_the_gate_on_a_list_is_filtered_and_says_so(real_cluster: ControlPlane) -> None:
    make_config_maps(real_cluster, "gate-on", 12)

    half = listing(real_cluster, "gate-on", LOWER_HALF)

    everything = uids(listing(real_cluster, "gate-on"))
    assert uids(half) == {uid for uid in everything if fnv1a64(uid) < SPACE // 2}
    assert half["metadata"]["shardInfo"] == {"selector": LOWER_HALF}


def test_with_the_gate_off_the_parameter_is_ignored(real_cluster_unsharded: ControlPlane) -> None:
    make_config_maps(real_cluster_unsharded, "gate-off", 12)

    half = listing(real_cluster_unsharded, "gate-off", LOWER_HALF)

    assert uids(half) == uids(listing(real_cluster_unsharded, "gate-off"))
    assert len(uids(half)) == 12
    assert "shardInfo" not in half["metadata"]


def test_the_certificate_is_good_for_its_own_authority_only(real_cluster: ControlPlane) -> None:
    port = int(real_cluster.url.rpartition(":")[2])
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=ssl.create_default_context(), timeout=5)

    with pytest.raises(ssl.SSLCertVerificationError):
        connection.request("GET", "/readyz")

    connection.close()
    assert real_cluster.request("GET", "/readyz") == b"ok"


def test_the_audit_log_tells_every_write_in_commit_order(real_cluster: ControlPlane) -> None:
    make_config_maps(real_cluster, "audited", 0)
    path = config_maps("audited", "x")
    real_cluster.request("POST", config_maps("audited"), {"metadata": {"name": "x"}}, user_agent="first/1")
    real_cluster.request("PATCH", path, {"data": {"a": "1"}}, user_agent="second/1")
    with pytest.raises(http.client.HTTPException, match="409"):
        real_cluster.request("POST", config_maps("audited"), {"metadata": {"name": "x"}}, user_agent="late/1")
    real_cluster.request("DELETE", path, user_agent="third/1")

    entries = [
        entry for entry in audit.read(real_cluster.audit_log) if entry.namespace == "audited" and entry.name == "x"
    ]

    assert [(entry.verb, entry.user_agent, entry.status) for entry in entries] == [
        ("create", "first/1", 201),
        ("patch", "second/1", 200),
        ("create", "late/1", 409),
        ("delete", "third/1", 200),
    ]
    created, patched, _, deleted = entries
    assert int(created.resource_version) < int(patched.resource_version)
    assert created.uid == patched.uid == deleted.uid != ""
    assert {entry.resource for entry in entries} == {"v1/configmaps"}


def test_children_go_with_their_owner(real_cluster: ControlPlane) -> None:
    make_config_maps(real_cluster, "garbage", 1)
    (owner,) = listing(real_cluster, "garbage")["items"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c0", "uid": owner["metadata"]["uid"]}
    child = {"metadata": {"name": "child", "ownerReferences": [reference]}}
    real_cluster.request("POST", config_maps("garbage"), child)

    real_cluster.request("DELETE", config_maps("garbage", "c0"))

    deadline = time.monotonic() + 30
    while names := {item["metadata"]["name"] for item in listing(real_cluster, "garbage")["items"]}:
        assert time.monotonic() < deadline, f"still there: {names}"


def test_a_server_that_cannot_start_says_why_and_leaves_nothing_running(cluster_binary: Path, tmp_path: Path) -> None:
    plane = ControlPlane(tmp_path, binary=cluster_binary, apiserver_flags=["--no-such-flag"])

    with pytest.raises(StartFailed, match=r"kube-apiserver ended with 1\n[\s\S]*unknown flag: --no-such-flag"):
        plane.start()

    assert not plane.servers
    assert str(tmp_path) not in running_commands()


def test_no_server_outlives_the_process_that_started_it(cluster_binary: Path, tmp_path: Path) -> None:
    """A test run that is killed closes the pipes of its servers; this closes one by hand."""
    with ControlPlane(tmp_path, binary=cluster_binary) as plane:
        orphan: Server = plane.servers["kube-apiserver"]

        orphan.cut_off()

        assert orphan.wait(10.0) == 1


def test_the_servers_metrics_are_readable(real_cluster: ControlPlane) -> None:
    assert "\napiserver_request_total{" in real_cluster.metrics_text()


def running_commands() -> str:
    """The command lines of all processes, but of this one."""
    others = (path for path in Path("/proc").glob("[0-9]*/cmdline") if path.parent.name != str(os.getpid()))
    return "\n".join(text for path in others if (text := read_if_there(path)))


def read_if_there(path: Path) -> str:
    try:
        return path.read_text(errors="replace").replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
        return ""


def test_a_plane_goes_back_to_a_backup_and_forgets_its_history(tmp_path: Path) -> None:
    said: list[str] = []
    with ControlPlane(tmp_path / "plane", binary=ensure(print)) as plane:
        make_config_maps(plane, "kept", 3)
        version = listing(plane, "kept")["metadata"]["resourceVersion"]
        plane.back_up(tmp_path / "backup")
        make_config_maps(plane, "later", 3)
        plane.restore(tmp_path / "backup", meanwhile=lambda: said.append("nothing is answered now"))
        assert len(listing(plane, "kept")["items"]) == 3
        assert listing(plane, "later")["items"] == []
        assert said == ["nothing is answered now"]

        make_config_maps(plane, "again", 1)
        plane.compact()
        plane.restart("kube-apiserver")
        with pytest.raises(http.client.HTTPException, match="410"):
            plane.request("GET", f"{config_maps('kept')}?resourceVersion={version}&resourceVersionMatch=Exact")
