from __future__ import annotations

import pytest

from chaos.command.storms import with_storms
from chaos.documents.experiment import Experiment, load_experiment
from shards.errors import ConfigError


def arguments(experiment: Experiment) -> dict[str, object]:
    (storm,) = (each for each in experiment.method if each.provider.func == "storm")
    return dict(storm.provider.arguments)


def test_a_storm_is_as_long_as_somebody_says() -> None:
    found = with_storms({"storm": load_experiment("storm")}, seconds=60.0, seed=None)
    assert arguments(found["storm"]) == {"seconds": 60.0, "seed": 0, "every_seconds": 10}


def test_a_seed_is_that_of_all_storms_and_of_nothing_else() -> None:
    before = {name: load_experiment(name) for name in ("storm", "lease-deleted")}
    found = with_storms(before, seconds=None, seed=7)
    assert arguments(found["storm"])["seed"] == 7
    assert found["lease-deleted"] is before["lease-deleted"]


def test_without_a_storm_its_options_say_nothing() -> None:
    with pytest.raises(ConfigError, match="--seed: it is for storms, and none is asked for"):
        with_storms({"worker-sigkill": load_experiment("worker-sigkill")}, seconds=None, seed=7)
