from __future__ import annotations

import pytest
from multidict import CIMultiDict

from fleet.devcluster.answers import ConnectionLost
from fleet.devcluster.proxy.upstream import Upstream
from fleet.devcluster.requests import Request


@pytest.mark.parametrize("target", ["@elsewhere.example/api", "http://elsewhere.example/api", "*", ""])
async def test_a_target_that_would_lead_elsewhere_is_not_sent(target: str) -> None:
    upstream = await Upstream.at("http://127.0.0.1:9")
    try:
        with pytest.raises(ConnectionLost, match="is no path"):
            await upstream.send(Request("GET", target), target, CIMultiDict())
    finally:
        await upstream.close()
