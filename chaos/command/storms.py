"""`--seconds` and `--seed`: how long a storm is, and which one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from chaos.documents.experiment import Experiment, parse_document
from shards.errors import ConfigError

STORM = "storm"
"""Name of the experiment, and of the function that its method calls."""


def with_storms(
    experiments: Mapping[str, Experiment], *, seconds: float | None, seed: int | None
) -> dict[str, Experiment]:
    """The same experiments; those whose method is a storm have one of that length and seed, where these are given.
    Raises ConfigError where there is none."""
    wanted = {name: value for name, value in (("seconds", seconds), ("seed", seed)) if value is not None}
    if not wanted:
        return dict(experiments)
    changed = {name: _changed(each, wanted) for name, each in experiments.items()}
    if all(changed[name] is each for name, each in experiments.items()):
        raise ConfigError(
            f"--{next(iter(wanted))}", f"it is for storms, and none is asked for; name the experiment {STORM}"
        )
    return changed


def _changed(experiment: Experiment, wanted: Mapping[str, float]) -> Experiment:
    if all(activity.provider.func != STORM for activity in experiment.method):
        return experiment
    document: dict[str, Any] = copy.deepcopy(dict(experiment.document))
    for activity in document["method"]:
        if activity["provider"]["func"] == STORM:
            activity["provider"]["arguments"] = {**activity["provider"].get("arguments", {}), **wanted}
    return parse_document(document)
