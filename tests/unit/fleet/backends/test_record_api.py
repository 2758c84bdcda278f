from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest

from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.backends.record_api import RecordApi
from fleet.records.coordination import CasConflict, CoordinationUnavailable, ProtocolMismatch
from fleet.records.lease_records import Times
from fleet.records.object_names import LEASES, Kind, Names
from fleet.records.record import ShardRecord
from fleet.records.shard_lease import lease_from_shard
from shards.api.client import Query, Transport
from shards.errors import ApiError, NotOwner, ShardError, Unreachable, api_error
from shards.keyrange import WHOLE, KeyRange, equal_boundaries, ranges_from
from shards.objects import Object
from tests.unit.fleet.records.records import FLEET, member, shard

NAMES = Names(FLEET, "prod")
TIMES = Times("", "")


class Scripted(Transport):
    """Gives the same outcome to every request, or the next of several bodies, and remembers what was asked."""

    def __init__(self, *outcomes: bytes | ShardError) -> None:
        self.outcomes = list(outcomes)
        self.asked: list[tuple[str, str, Query, bytes | None, str, float | None]] = []

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        query, body, not_after = options.get("query", ()), options.get("body"), options.get("not_after")
        self.asked.append((method, path, tuple(query), body, options["user_agent"], not_after))
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, ShardError):
            raise outcome
        return outcome

    def stream(self, path: str, **options: Any) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NotImplementedError("nothing here watches")

    async def close(self) -> None: ...


def api(*outcomes: bytes | ShardError) -> RecordApi:
    return RecordApi(Scripted(*outcomes), NAMES, user_agent=lambda: "fleet/0", timeout_seconds=5.0, wall=lambda: 0.0)


def body(version: str = "") -> Object:
    return lease_from_shard(NAMES, shard(), replaces=version, times=TIMES)


@pytest.mark.parametrize(
    ("error", "maybe_applied"),
    [
        (NotOwner("the deadline has passed"), False),
        (Unreachable("refused", maybe_applied=False), False),
        (Unreachable("cut"), True),
        (api_error(500), True),
        (api_error(503), True),
        (api_error(504, "Timeout"), True),
        (api_error(401), False),
        (api_error(403), False),
        (api_error(422, "Invalid"), False),
        (api_error(429, "TooManyRequests"), False),
    ],
)
async def test_a_failed_write_says_whether_it_may_have_been_carried_out(error: ShardError, maybe_applied: bool) -> None:
    with pytest.raises(CoordinationUnavailable) as failed:
        await api(error).write(LEASES, body("12"))
    assert failed.value.maybe_applied is maybe_applied


@pytest.mark.parametrize("error", [api_error(500), Unreachable("cut"), api_error(403)])
async def test_a_failed_read_leaves_nothing_in_doubt(error: ShardError) -> None:
    for read in (api(error).get(LEASES, "x"), api(error).list_records(Kind.SHARD)):
        with pytest.raises(CoordinationUnavailable) as failed:
            await read
        assert not failed.value.maybe_applied


@pytest.mark.parametrize("error", [api_error(409, "Conflict"), api_error(409, "AlreadyExists"), api_error(404)])
async def test_a_write_over_another_version_or_over_nothing_conflicts(error: ApiError) -> None:
    with pytest.raises(CasConflict):
        await api(error).write(LEASES, body("12"))


async def test_a_create_that_finds_no_namespace_is_no_conflict() -> None:
    with pytest.raises(CoordinationUnavailable):
        await api(api_error(404, "NotFound", 'namespaces "prod" not found')).write(LEASES, body())


async def test_what_is_not_there_reads_as_none_and_is_deleted_already() -> None:
    assert await api(api_error(404)).get(LEASES, "x") is None
    await api(api_error(404)).delete(LEASES, "x", uid="u", version="12")


async def test_a_write_names_the_version_and_a_create_none() -> None:
    transport = Scripted(b"{}")
    requests = RecordApi(transport, NAMES, user_agent=lambda: "fleet/0 e=4", timeout_seconds=5.0, wall=lambda: 0.0)
    await requests.write(LEASES, body("12"), not_after=77.0)
    await requests.write(LEASES, body())
    (put, path, _, put_body, agent, not_after), (post, collection, _, post_body, _, _) = transport.asked
    assert (put, post) == ("PUT", "POST")
    assert path == f"{collection}/{NAMES.shard(shard().range)}"
    assert (agent, not_after) == ("fleet/0 e=4", 77.0)
    assert msgspec.json.decode(put_body or b"")["metadata"]["resourceVersion"] == "12"
    assert "resourceVersion" not in msgspec.json.decode(post_body or b"")["metadata"]


async def test_a_deletion_carries_both_preconditions() -> None:
    transport = Scripted(b"{}")
    requests = RecordApi(transport, NAMES, user_agent=lambda: "", timeout_seconds=5.0, wall=lambda: 0.0)
    await requests.delete(LEASES, "x", uid="u", version="12")
    sent = msgspec.json.decode(transport.asked[0][3] or b"")
    assert sent["preconditions"] == {"uid": "u", "resourceVersion": "12"}


def page(version: str, token: str, *items: object) -> bytes:
    return msgspec.json.encode({"metadata": {"resourceVersion": version, "continue": token}, "items": items})


def stored(version: str, covered: KeyRange = WHOLE) -> Object:
    return lease_from_shard(NAMES, shard(covered, uid=f"uid-{version}"), replaces=version, times=TIMES)


LOW, HIGH = ranges_from(equal_boundaries(2))


async def test_a_list_in_pages_is_read_to_its_end() -> None:
    requests = api(
        page("20", "more", stored("12", LOW)),
        page("20", "", stored("13", HIGH)),
    )
    found, version = await requests.list_records(Kind.SHARD)
    assert version == "20"
    assert [record.version for record in found.values()] == ["12", "13"]
    transport = requests.transport
    assert isinstance(transport, Scripted)
    selector = ("labelSelector", NAMES.selector(Kind.SHARD))
    assert [asked[2] for asked in transport.asked] == [(selector,), (selector, ("continue", "more"))]


async def test_the_map_is_listed_by_its_name() -> None:
    requests = api(page("20", ""))
    assert await requests.list_records(Kind.MAP) == ({}, "20")
    transport = requests.transport
    assert isinstance(transport, Scripted)
    assert transport.asked[0][2] == (("fieldSelector", "metadata.name=web-map"),)


@pytest.mark.parametrize("answer", [page("", ""), page("0", ""), b"<html>", b"[]", b'{"items": []}'])
async def test_an_answer_that_is_no_list_is_no_answer(answer: bytes) -> None:
    with pytest.raises(CoordinationUnavailable, match="not an answer"):
        await api(answer).list_records(Kind.SHARD)


async def test_a_list_with_a_range_of_another_hash_is_refused_whole_but_by_who_only_looks() -> None:
    foreign = stored("12")
    foreign["metadata"]["name"] = f"web-shard-uidv9-{WHOLE}"
    with pytest.raises(ProtocolMismatch):
        await api(page("20", "", foreign)).list_records(Kind.SHARD)
    assert await api(page("20", "", foreign)).list_records(Kind.SHARD, strict=False) == ({}, "20")


async def test_a_record_of_another_protocol_is_listed_as_a_foreign_one() -> None:
    foreign = stored("12")
    foreign["metadata"].setdefault("annotations", {})["shardfleet.dev/protocol"] = "2"
    found, _ = await api(page("20", "", foreign)).list_records(Kind.SHARD)
    [record] = found.values()
    assert isinstance(record, ShardRecord)
    assert (record.foreign, record.holder, record.version) == (True, None, "12")


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"{}"])
async def test_an_answer_to_a_write_that_is_no_record_leaves_it_in_doubt(answer: bytes) -> None:
    coordination = KubernetesCoordination(Scripted(answer), fleet=FLEET, namespace="prod", user_agent=lambda: "fleet/0")
    with pytest.raises(CoordinationUnavailable) as failed:
        await coordination.write_member(member(), "12")
    assert failed.value.maybe_applied
