from __future__ import annotations

from typing import Any

from chaos.targets.fault_proxy import send_as_written
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request


class Upstream:
    async def send(self, request: Request, target: str, headers: Any) -> Answer:
        self.target, self.headers = target, headers
        return Answer(200, b'{"metadata":{"name":"a"}}')


async def test_a_request_that_is_sent_elsewhere_arrives_as_the_client_wrote_it_and_is_recorded() -> None:
    upstream, recorder = Upstream(), Recorder(clock=lambda: 1.0)
    path = "/api/v1/namespaces/a b/pods/a"
    query = [("labelSelector", "x in (1,2)"), ("watch", "false")]
    request = Request("GET", path, query, None, {"user-agent": "fleet/0 m=a-0", "authorization": "Bearer t"})
    answer = await send_as_written(upstream, recorder, request)  # type: ignore[arg-type]
    assert answer.status == 200
    assert upstream.target == "/api/v1/namespaces/a%20b/pods/a?labelSelector=x+in+%281%2C2%29&watch=false"
    assert upstream.headers["Authorization"] == "Bearer t"
    assert [(each.verb, each.user_agent) for each in recorder.entries] == [("get", "fleet/0 m=a-0")]
