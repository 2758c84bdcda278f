from __future__ import annotations

import pytest

from fleet.devcluster.doors.control import Control
from fleet.devcluster.faults import Faults
from fleet.devcluster.recording.journal import decode_lines
from fleet.devcluster.recording.recorder import Recorder
from shards.objects import Resource

PODS = Resource("", "v1", "pods")


async def test_a_long_journal_comes_in_parts_and_whole() -> None:
    recorder = Recorder(clock=lambda: 0.0)
    for _ in range(12_000):
        recorder.record("get", PODS, status=200, user_agent="")
    stream = Control(recorder, Faults()).answer("GET", "/-/journal", {}, None).stream
    assert stream is not None
    parts = []
    while part := await stream.read():
        parts.append([each.seq for each in decode_lines(part)])
    assert max(map(len, parts)) <= 5000
    assert [seq for part in parts for seq in part] == list(range(1, 12_001))
    stream.close()


@pytest.mark.parametrize("after", ["x", "-1", "9" * 5000])
def test_a_journal_begins_after_a_number(after: str) -> None:
    control = Control(Recorder(clock=lambda: 0.0), Faults())
    assert control.answer("GET", "/-/journal", {"after": after}, None).status == 400
