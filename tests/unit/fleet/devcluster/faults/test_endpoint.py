from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fleet.devcluster.faults import Faults
from fleet.devcluster.faults.endpoint import answer
from fleet.devcluster.server import ApiServer


def ask(faults: Faults, method: str, path: str = "/-/faults", body: Any = None) -> tuple[int, Any]:
    given = answer(faults, method, path, None if body is None else msgspec.json.encode(body))
    return given.status, msgspec.json.decode(given.body)


async def test_faults_are_injected_listed_and_released() -> None:
    faults = Faults()
    cut, late = (
        {"fault": "cut", "after_bytes": 3},
        {"fault": "delay_events", "match": {"member": "b"}, "from_seconds": 60},
    )
    status, made = ask(faults, "POST", body=[cut, late])
    assert (status, [each["id"] for each in made]) == (201, [1, 2])
    _, listed = ask(faults, "GET")
    assert listed == [
        {"id": 1, "struck": 0, "in_force": True, "fault": cut},
        {"id": 2, "struck": 0, "in_force": False, "fault": {**late, "from_seconds": 60.0}},
    ]
    assert ask(faults, "DELETE", "/-/faults/1")[0] == 200
    assert [each.id for each in faults] == [2]
    assert ask(faults, "DELETE", "/-/faults/1")[0] == 404
    assert ask(faults, "DELETE") == (200, [])
    assert list(faults) == []


async def test_a_single_fault_needs_no_list() -> None:
    status, made = ask(Faults(), "POST", body={"fault": "reset"})
    assert (status, made[0]["fault"]) == (201, {"fault": "reset"})


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field"),
    [
        ("POST", "/-/faults", {"fault": "cut", "after": 3}, 400, "after"),
        ("POST", "/-/faults", [{"fault": "reset"}, {"fault": "stale_replica", "replica": "x"}], 400, "[1].replica"),
        ("POST", "/-/faults", {"fault": "stale_replica", "lag_seconds": 1}, 400, "replica"),
        ("POST", "/-/faults", {"fault": "clock", "rate": 2.0}, 400, "fault"),
        ("POST", "/-/faults", {"fault": {}}, 400, "fault"),
        ("POST", "/-/faults", None, 400, ""),
        ("PUT", "/-/faults", {}, 405, "method"),
        ("DELETE", "/-/faults/x", None, 404, "id"),
        ("DELETE", f"/-/faults/{'9' * 5000}", None, 404, "id"),
    ],
)
async def test_what_is_wrong_is_named_and_changes_nothing(
    method: str, path: str, body: Any, status: int, field: str
) -> None:
    faults = Faults()
    told = ask(faults, method, path, body)
    assert (told[0], told[1]["field"]) == (status, field)
    assert told[1]["error"]
    assert list(faults) == []


async def test_a_list_with_one_wrong_fault_strikes_nobody_for_a_moment() -> None:
    server = ApiServer()
    opened = await server.handle("GET", "/api/v1/configmaps", [("watch", "true"), ("resourceVersion", "1")])
    wanted = [{"fault": "expire"}, {"fault": "stale_replica", "replica": "none"}]
    heard: list[None] = []
    server.faults.on_change.append(lambda: heard.append(None))
    assert ask(server.faults, "POST", body=wanted)[0] == 400
    assert heard == []
    assert len(server.watching.streams) == 1
    assert opened.stream is not None
    opened.stream.close()


async def test_a_body_that_nests_too_deep_is_no_json() -> None:
    assert answer(Faults(), "POST", "/-/faults", b"[" * 100_000).status == 400


async def test_a_clock_is_skewed_where_somebody_reads_it() -> None:
    faults = Faults()
    clock = faults.clock("a", lambda: 100.0)
    status, _ = ask(faults, "POST", body={"fault": "clock", "match": {"member": "a"}, "offset_seconds": 5})
    assert (status, clock()) == (201, 105.0)
