from __future__ import annotations

import pytest

from fleet.dev.options import DevOptions
from shards.errors import ConfigError


def test_kills_are_sorted_by_their_time() -> None:
    options = DevOptions.of("a.py:b", kills=["coordinator@8s", "worker@5s"])
    assert [str(kill) for kill in options.kills] == ["worker@5s", "coordinator@8s"]


def test_an_end_is_either_a_state_or_a_time() -> None:
    with pytest.raises(ConfigError, match="--for: give --until-settled or --for, not both"):
        DevOptions.of("a.py:b", until_settled=True, for_seconds=3.0)


def test_the_fleets_config_is_what_the_command_line_says_on_loopback() -> None:
    config = DevOptions.of("a.py:b", workers=4, shards=16).config()
    assert (config.workers.per_pod, config.shards.count, config.references) == (4, 16, ("a.py:b",))
    assert (config.agent.address, config.agent.metrics_port) == ("127.0.0.1", 0)
