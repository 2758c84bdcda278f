from __future__ import annotations

import pytest

from fleet.pod.pod import exit_code, labels_of
from fleet.processes.exitcodes import EX_CONFIG, EX_SOFTWARE, EX_WATCHDOG
from shards.errors import ConfigError


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
