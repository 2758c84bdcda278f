from __future__ import annotations

import base64
from pathlib import Path

import msgspec
import pytest

from fleet.devcluster.judging.judge import judge
from fleet.devcluster.judging.report import read_journals
from fleet.devcluster.recording.asked import digest
from fleet.devcluster.recording.journal import EVENT, REFUSED, Level, Sent, Shown, decode_lines, encode_lines
from fleet.devcluster.recording.journalfile import JournalFile
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.recording.tap import TappedStream, exchange
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request
from shards.api.client import Client
from shards.errors import AlreadyExists, ConfigError
from shards.objects import Resource
from tests.unit.fleet.devcluster.cluster import (
    CONFIG_MAPS,
    DEFINITIONS,
    WEBSITES,
    Cluster,
    config_map,
    definition,
    website,
)
from tests.unit.fleet.disks import Disk

SECRETS, ACCOUNTS = Resource.parse("v1/secrets"), Resource.parse("v1/serviceaccounts")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make(user_agent="fleet/0 m=a")


async def test_requests_are_recorded_in_commit_order_with_what_the_judge_needs(cluster: Cluster) -> None:
    owner = await cluster.client.create(CONFIG_MAPS, "default", config_map("owner"))
    reference = {"kind": "ConfigMap", "apiVersion": "v1", "name": "owner", "uid": owner["metadata"]["uid"]}
    body = config_map("child", ownerReferences=[{**reference, "controller": True}])
    child = await cluster.client.create(CONFIG_MAPS, "default", body)
    with pytest.raises(AlreadyExists):
        await cluster.client.create(CONFIG_MAPS, "default", body)
    await cluster.client.get(CONFIG_MAPS, "default", "child")
    await cluster.client.delete(CONFIG_MAPS, "default", "child")
    entries = list(cluster.recorder.entries)
    assert [(each.seq, each.verb, each.name, each.status) for each in entries] == [
        (1, "create", "owner", 201),
        (2, "create", "child", 201),
        (3, "create", "child", 409),
        (4, "get", "child", 200),
        (5, "delete", "child", 200),
    ]
    assert entries[1].owner_uid == owner["metadata"]["uid"]
    assert entries[1].uid == entries[4].uid == child["metadata"]["uid"]
    assert entries[4].removed
    assert not entries[1].removed
    assert {each.user_agent for each in entries} == {"fleet/0 m=a"}


async def test_equal_statuses_have_equal_digests_and_different_ones_do_not(cluster: Cluster) -> None:
    await cluster.client.create(DEFINITIONS, "", definition())
    await cluster.client.create(WEBSITES, "default", website("a"))
    for phase in ("one", "one", "two"):
        await cluster.client.merge_patch(WEBSITES, "default", "a", {"status": {"phase": phase}}, "status")
    first, second, third = (each.content for each in cluster.recorder.entries if each.subresource == "status")
    assert first == second != third
    assert first


async def test_leases_and_maps_are_kept_whole_and_nothing_else(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("web-map"))
    await cluster.client.create(CONFIG_MAPS, "default", config_map("other"))
    kept = [each.decoded() for each in cluster.recorder.entries]
    assert kept[0] is not None
    assert kept[0]["metadata"]["name"] == "web-map"
    assert kept[1] is None


async def test_a_full_record_forgets_the_oldest_and_says_so() -> None:
    recorder = Recorder(clock=lambda: 0.0, limit=2)
    for name in ("a", "b", "c"):
        recorder.record("get", CONFIG_MAPS, name=name, status=200, user_agent="")
    assert [each.name for each in recorder.entries] == ["b", "c"]
    assert recorder.dropped == 1
    assert [each.name for each in recorder.after(2)] == ["c"]
    assert recorder.counts["get", "v1/configmaps", 200] == 3


def test_reads_can_be_counted_only() -> None:
    recorder = Recorder(clock=lambda: 0.0, reads=False)
    recorder.record("list", CONFIG_MAPS, status=200, user_agent="")
    assert not recorder.entries
    assert recorder.counts["list", "v1/configmaps", 200] == 1


async def test_a_journal_survives_its_encoding(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("web-map"))
    entries = list(cluster.recorder.entries)
    assert list(decode_lines(encode_lines(entries))) == entries


async def test_a_fleets_preconditions_are_kept_and_nobody_elses(cluster: Cluster) -> None:
    made = await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    meta = made["metadata"]
    await cluster.client.update(CONFIG_MAPS, "default", "a", made)
    await cluster.client.delete(CONFIG_MAPS, "default", "a")
    others = Client(cluster.transport, user_agent="kubectl/1")
    await others.create(CONFIG_MAPS, "default", config_map("b"))
    await others.delete(CONFIG_MAPS, "default", "b")
    created, updated, deleted, *rest = cluster.recorder.entries
    assert created.sent is None
    assert updated.sent == Sent(uid=meta["uid"], version=meta["resourceVersion"])
    assert deleted.sent == Sent()
    assert [each.sent for each in rest] == [None, None]


async def test_the_options_of_reads_are_kept(cluster: Cluster) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    await cluster.ask("GET", path, limit="7", labelSelector="a=b", resourceVersion="0")
    [entry] = cluster.recorder.entries
    assert entry.sent == Sent(resource_version="0", limit=7, labels="a=b")


async def test_bodies_and_their_digests_are_kept_at_their_level() -> None:
    cluster = Cluster.make()
    cluster.recorder.level = Level.BODIES
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    [entry] = cluster.recorder.entries
    assert entry.sent is not None
    assert '"name":"a"' in entry.sent.body
    assert len(entry.sent.digest) == 32


async def test_lists_and_delivered_events_are_kept_at_their_level() -> None:
    cluster = Cluster.make(user_agent="fleet/0 m=a r=informer")
    cluster.recorder.level = Level.DELIVERIES
    made = await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    await cluster.client.list(CONFIG_MAPS, "default")
    path = "/api/v1/namespaces/default/configmaps"
    async with cluster.transport.stream(path, query=(("watch", "true"),), user_agent="fleet/0 m=a") as chunks:
        await anext(chunks)
    listed, shown = (each for each in cluster.recorder.entries if each.verb == EVENT)
    uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
    assert listed.shown == Shown(type="LIST", version=version, objects={uid: version})
    assert (shown.uid, shown.name, shown.user_agent) == (uid, "a", "fleet/0 m=a")
    assert shown.shown == Shown(type="ADDED", version=version)


async def test_below_that_level_nothing_is_wrapped(cluster: Cluster) -> None:
    answer = await cluster.server.handle("GET", "/api/v1/configmaps", [("watch", "true")])
    assert not isinstance(answer.stream, TappedStream)
    assert answer.stream is not None
    answer.stream.close()


def test_an_exchange_with_another_server_is_recorded_like_a_request() -> None:
    recorder = Recorder(clock=lambda: 0.0)
    headers = {"user-agent": "fleet/0 m=a"}
    path = "/api/v1/namespaces/default/configmaps"
    body = b'{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"7"}}'
    exchange(recorder, Request("POST", path, (), body, headers), Answer(201, body))
    options = b'{"preconditions":{"uid":"u","resourceVersion":"7"}}'
    gone = b'{"kind":"Status","status":"Success","details":{"name":"a","uid":"u"}}'
    exchange(recorder, Request("DELETE", f"{path}/a", (), options, headers), Answer(200, gone))
    exchange(recorder, Request("DELETE", f"{path}/a", (), options, headers), Answer(429, b"", retry_after="3"))
    created, deleted, refused = recorder.entries
    assert (created.verb, created.name, created.uid, created.resource_version) == ("create", "a", "u", "7")
    assert (deleted.verb, deleted.uid, deleted.removed) == ("delete", "u", True)
    assert deleted.sent == Sent(uid="u", version="7")
    assert (refused.status, refused.shown) == (429, Shown(retry_after_seconds=3.0))


def test_what_an_injector_did_has_a_line() -> None:
    recorder = Recorder(clock=lambda: 0.0)
    request = Request("GET", "/api/v1/configmaps", (("limit", "5"),), None, {"user-agent": "x"})
    recorder.note(REFUSED, fault="too many requests", request=request, status=429, retry_after="2")
    [entry] = recorder.entries
    assert (entry.verb, entry.resource, entry.user_agent, entry.status) == (REFUSED, "v1/configmaps", "x", 429)
    assert entry.note == "too many requests"
    assert not entry.write


async def test_a_journal_in_a_file_has_what_memory_has_forgotten(tmp_path: Path) -> None:
    recorder = Recorder(clock=lambda: 0.0, limit=1)
    file = JournalFile(recorder, tmp_path / "new" / "server.jsonl")
    for name in ("a", "b", "c"):
        recorder.record("get", CONFIG_MAPS, name=name, status=200, user_agent="")
    file.close()
    file.close()
    recorder.record("get", CONFIG_MAPS, name="d", status=200, user_agent="")
    assert [each.name for each in decode_lines((tmp_path / "new" / "server.jsonl").read_bytes())] == ["a", "b", "c"]


def test_a_journal_that_cannot_be_written_is_refused_with_its_option(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="--journal: cannot write"):
        JournalFile(Recorder(), tmp_path / "file" / "server.jsonl")


def test_a_full_disk_costs_a_journal_entries_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    recorder, disk = Recorder(clock=lambda: 0.0), Disk(monkeypatch)
    file = JournalFile(recorder, tmp_path / "server.jsonl")

    def ask(count: int) -> None:
        for _ in range(count):
            recorder.record("get", CONFIG_MAPS, name="a", status=200, user_agent="x")
        file.flush()

    ask(10)
    disk.limit = (tmp_path / "server.jsonl").stat().st_size
    ask(5)
    ask(5)
    assert file.lost == 11
    verdict = judge(*read_journals([tmp_path]))
    assert (verdict.entries, verdict.missing, verdict.partial) == (9, 11, True)
    disk.limit = 1 << 20
    ask(3)
    file.close()
    verdict = judge(*read_journals([tmp_path]))
    assert (verdict.entries, verdict.missing) == (12, 11)
    assert len([each for each in caplog.records if "cannot be written" in each.message]) == 1


async def test_no_journal_holds_what_secrets_and_tokens_hold() -> None:
    cluster = Cluster.make(user_agent="fleet/0 m=a e=1 k=default/s u=u")
    cluster.recorder.level = Level.BODIES
    hidden = base64.b64encode(b"hunter2").decode()
    applied = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"data":{{"a":"{hidden}"}}}}'}
    secret = {"kind": "Secret", "metadata": {"name": "s", "annotations": applied}, "data": {"a": hidden}}
    made = await cluster.client.create(SECRETS, "default", secret)
    await cluster.client.update(SECRETS, "default", "s", {**made, "stringData": {"b": "hunter2"}})
    await cluster.client.merge_patch(SECRETS, "default", "s", {"stringData": {"c": "hunter2"}})
    with pytest.raises(AlreadyExists):
        await cluster.client.create(SECRETS, "default", {**secret, "stringData": {"d": "hunter2"}})
    path = "/api/v1/namespaces/default/secrets"
    body = msgspec.json.encode({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "t"}, **secret})
    apply = {"content-type": "application/apply-patch+yaml"}
    await cluster.server.handle("PATCH", f"{path}/t", [("fieldManager", "x")], body, apply)
    await cluster.client.list(SECRETS, "default")
    async with cluster.transport.stream(path, query=(("watch", "true"),), user_agent="x") as chunks:
        assert hidden.encode() in await anext(chunks)
    await cluster.client.create(ACCOUNTS, "default", {"kind": "ServiceAccount", "metadata": {"name": "robot"}})
    token = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    asked = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {"audiences": ["hunter2"]}}
    granted = await cluster.server.handle("POST", token, body=msgspec.json.encode(asked))
    review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "spec": {"token": "hunter2"}}
    await cluster.server.handle("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body=msgspec.json.encode(review))
    cluster.recorder.note(REFUSED, fault="x", request=Request("PUT", f"{path}/s", (), body))
    journal = encode_lines(cluster.recorder.entries)
    assert len(cluster.recorder.entries) > 8
    assert b"last-applied" not in journal
    token = msgspec.json.decode(granted.body)["status"]["token"]
    for each in (b"hunter2", hidden.encode(), digest(body).encode(), token.encode()):
        assert each not in journal


def test_what_a_proxy_saw_of_secrets_is_not_kept_either() -> None:
    recorder = Recorder(clock=lambda: 0.0, level=Level.BODIES)
    body = b'{"kind":"Secret","metadata":{"name":"s","uid":"u","resourceVersion":"7"},"stringData":{"a":"hunter2"}}'
    exchange(recorder, Request("POST", "/api/v1/namespaces/default/secrets", (), body), Answer(201, body))
    exchange(recorder, Request("GET", "/api/v1/namespaces/default/secrets/s"), Answer(200, body))
    assert b"hunter2" not in encode_lines(recorder.entries)


async def test_dry_runs_write_nothing_and_are_no_writes(cluster: Cluster) -> None:
    await cluster.client.create(CONFIG_MAPS, "default", config_map("a"))
    path = "/api/v1/namespaces/default/configmaps"
    body, dry = msgspec.json.encode(config_map("a")), [("dryRun", "All")]
    options = b'{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}'
    fresh = msgspec.json.encode(config_map("b"))
    told = []
    for method, where, sent in (
        ("POST", path, body),
        ("POST", path, fresh),
        ("PUT", f"{path}/a", body),
        ("PATCH", f"{path}/absent", b"{}"),
        ("DELETE", f"{path}/a", options),
        ("DELETE", path, options),
        ("DELETE", f"{path}/absent", options),
    ):
        headers = {"content-type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
        request = Request(method, where, () if sent == options else dry, sent, headers)
        answer = await cluster.server.handle(method, where, request.query, sent, headers)
        told.append(answer.status)
        recorder = Recorder(clock=lambda: 0.0)
        exchange(recorder, request, answer)
        assert not recorder.entries
    assert told == [409, 201, 200, 404, 200, 200, 404]
    assert [each.name for each in cluster.recorder.entries] == ["a"]
