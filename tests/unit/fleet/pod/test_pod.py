from __future__ import annotations

import re

import pytest

from fleet.configuration.config_file import config_from
from fleet.pod.pod import exit_code, labels_of, weight_of
from fleet.processes.exitcodes import EX_CONFIG, EX_SOFTWARE, EX_WATCHDOG
from shards.errors import ConfigError


def test_a_pod_s_weight_is_that_of_the_config_unless_its_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = config_from({"fleet": "web", "controller": "a:b", "workers": {"weight": 2}})
    monkeypatch.delenv("FLEET_WEIGHT", raising=False)
    assert weight_of(config) == 2.0
    monkeypatch.setenv("FLEET_WEIGHT", " 0.5 ")
    assert weight_of(config) == 0.5


@pytest.mark.parametrize("text", ["heavy", "0", "nan", "1000"])
def test_a_weight_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("FLEET_WEIGHT", text)
    expected = f"FLEET_WEIGHT: '{text}' is no weight; write a number of at least 0.01, at most 100"
    with pytest.raises(ConfigError, match=re.escape(expected)):
        weight_of(config_from({"fleet": "web", "controller": "a:b"}))


@pytest.mark.parametrize(("ended", "code"), [(0, 0), (EX_CONFIG, 2), (EX_SOFTWARE, 1), (EX_WATCHDOG, 1), (137, 1)])
def test_the_command_ends_as_its_supervisor_did(ended: int, code: int) -> None:
    assert exit_code(ended) == code


def test_workers_carry_the_labels_of_the_command_those_of_the_environment_and_the_name_of_their_pod(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FLEET_LABELS", "track=stable, zone=a,")
    assert labels_of("web-0", ["track=canary"]) == {"pod": "web-0", "track": "canary", "zone": "a"}
    monkeypatch.delenv("FLEET_LABELS")
    assert labels_of("web-0", []) == {"pod": "web-0"}
    assert labels_of("web-0", ["pod=other"]) == {"pod": "other"}


def test_labels_that_cannot_be_are_refused_by_the_name_of_where_they_were_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FLEET_LABELS", "track")
    with pytest.raises(ConfigError, match="FLEET_LABELS: 'track' is no label; write name=value"):
        labels_of("web-0", [])
    monkeypatch.setenv("FLEET_LABELS", "")
    with pytest.raises(ConfigError, match="--label: 'b c' is no value of a label"):
        labels_of("web-0", ["a=b c"])
