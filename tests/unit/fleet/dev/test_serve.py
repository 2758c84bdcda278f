from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fleet.dev.serve import ServeOptions, front_ends
from fleet.devcluster.recording.recorder import Recorder
from shards.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"port": 8001, "front_ends": 2}, "--port: several front ends have a port each"),
        ({"key": Path("tls.key")}, "--key: give --certificate and --key together"),
        ({"admin_token": ""}, "--admin-token: it is empty; leave the option out"),
        ({"admin_token": "two words"}, "--admin-token: it must be of visible ASCII characters"),
        ({"admin_token": "line\n"}, "--admin-token: it must be of visible ASCII characters"),
        ({"admin_token": "schlüssel"}, "--admin-token: it must be of visible ASCII characters"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ServeOptions(**options)


def test_front_ends_are_named_like_contexts_and_know_each_other() -> None:
    servers = front_ends(ServeOptions(front_ends=3), Recorder())
    assert [each.name for each in servers] == ["dev", "dev-2", "dev-3"]
    assert [sorted(each.faults.routes) for each in servers] == [["dev-2", "dev-3"], ["dev", "dev-3"], ["dev", "dev-2"]]
    assert len({id(each.backend) for each in servers}) == 1
