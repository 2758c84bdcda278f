from __future__ import annotations

import msgspec
import pytest

from fleet.devcluster.doors.control import Control
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.wire.answers import Answer
from shards.objects import Resource

CONFIG_MAPS = Resource("", "v1", "configmaps")


class Lab:
    def __init__(self) -> None:
        self.recorder = Recorder(clock=lambda: 1.0)
        self.server = ApiServer(recorder=self.recorder)
        self.control = Control(self.recorder, self.server.faults, self.server.storage)

    def post(self, what: str) -> Answer:
        return self.control.answer("POST", f"/-/storage/{what}", {}, b"{}")

    def add(self, name: str) -> None:
        self.server.seed(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})

    async def asked(self, query: list[tuple[str, str]]) -> Answer:
        return await self.server.handle("GET", "/api/v1/namespaces/default/configmaps", query)

    async def names(self) -> list[str]:
        answer = await self.asked([])
        return [each["metadata"]["name"] for each in msgspec.json.decode(answer.body)["items"]]


async def test_what_was_kept_is_put_back_and_the_recorder_hears_of_it() -> None:
    lab = Lab()
    lab.add("kept")
    version = lab.server.storage.version
    assert lab.post("back-up").status == 200
    lab.add("later")
    assert lab.post("restore").status == 200
    assert (lab.server.storage.version, await lab.names()) == (version, ["kept"])
    assert [each.verb for each in lab.recorder.entries if each.verb != "list"] == ["restored"]


async def test_a_compaction_takes_the_history() -> None:
    lab = Lab()
    before = lab.server.storage.version
    lab.add("a")
    assert lab.post("compact").status == 200
    exact = [("resourceVersion", str(before)), ("resourceVersionMatch", "Exact")]
    assert (await lab.asked(exact)).status == 410


@pytest.mark.parametrize(
    ("method", "what", "status", "says"),
    [
        ("POST", "restore", 409, "nothing was kept"),
        ("POST", "burn", 404, "there are /-/storage/compact"),
        ("GET", "compact", 405, "POST only"),
    ],
)
def test_what_cannot_be_done_is_told(method: str, what: str, status: int, says: str) -> None:
    answer = Lab().control.answer(method, f"/-/storage/{what}", {}, None)
    assert answer.status == status
    assert says in answer.body.decode()


def test_a_proxy_is_told_what_happens_behind_it_and_can_do_no_more() -> None:
    recorder = Recorder(clock=lambda: 1.0)
    control = Control(recorder, ApiServer().faults)
    assert control.answer("POST", "/-/storage/restored", {}, b"{}").status == 200
    assert [each.verb for each in recorder.entries] == ["restored"]
    assert control.answer("POST", "/-/storage/restore", {}, b"{}").status == 404
