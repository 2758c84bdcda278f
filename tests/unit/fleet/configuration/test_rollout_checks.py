"""What a canary may not say, beyond what the file's format forbids (test_config_file.py has that)."""

from __future__ import annotations

import pytest

from fleet.configuration.rollout_checks import check_controllers, parse_labels
from fleet.configuration.rollout_config import CanaryConfig
from shards.errors import ConfigError


def test_a_controller_that_nobody_runs_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError) as caught:
        check_controllers(CanaryConfig(controllers=("websites", "pods")), ["websites", "queues"])
    assert (
        str(caught.value) == "canary.controllers[1]: no controller is called 'pods'; this fleet runs queues, websites"
    )
    with pytest.raises(ConfigError, match="did you mean websites"):
        check_controllers(CanaryConfig(controllers=("website",)), ["websites", "queues"])
    check_controllers(CanaryConfig(controllers=("queues",)), ["websites", "queues"])


def test_labels_are_read_as_they_are_written() -> None:
    labels = parse_labels("--label", ["track=canary", "example.com/zone=a", "empty=", "track=canary"])
    assert labels == {"track": "canary", "example.com/zone": "a", "empty": ""}


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["track"], "--label: 'track' is no label; write name=value"),
        (["track=a", "track=b"], "--label: the label 'track' is given twice, as 'a' and as 'b'"),
        (["=a"], "--label: '' is no name of a label; write letters"),
        (["EXAMPLE.com/x=a"], "'EXAMPLE.com/x' is no name of a label"),
        (["/x=a"], "'/x' is no name of a label"),
        ([f"{'x' * 64}=a"], "is no name of a label"),
        (["x=a b"], "'a b' is no value of a label"),
        (["x=-"], "'-' is no value of a label"),
    ],
)
def test_labels_that_cannot_be_are_refused(texts: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_labels("--label", texts)
    assert sentence in str(caught.value)
