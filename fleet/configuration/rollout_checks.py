"""What `featureGates` and `canary` may not say, in sentences that name the field and what would be right."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from fleet.configuration.config_errors import suggestion
from fleet.configuration.rollout_config import CanaryConfig, FeatureGates
from shards.errors import ConfigError
from shards.features import BUILT, Feature

_LABEL_WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_WORD = 63
_LONGEST_PREFIX = 253


def check_rollout(gates: FeatureGates, canary: CanaryConfig) -> None:
    """All that can be said without the author's module. Raises ConfigError."""
    if gates.admission_fence:
        raise ConfigError(
            "featureGates.AdmissionFence",
            "this version has no admission fence, so that true would protect nothing; leave the field out",
        )
    for index, name in enumerate(canary.features):
        _check_feature(f"canary.features[{index}]", name)
    # Written so that not-a-number fails it too.
    if not 0.0 < canary.shard_fraction <= 1.0:
        raise ConfigError(
            "canary.shardFraction",
            f"{canary.shard_fraction:g} is no part of the shards; write a number above 0, at most 1,"
            " and switch a feature off everywhere in featureGates",
        )
    check_labels("canary.memberLabels", canary.member_labels)
    narrowed = [
        name
        for name, given in (
            ("controllers", bool(canary.controllers)),
            ("shardFraction", canary.shard_fraction < 1.0),
            ("memberLabels", bool(canary.member_labels)),
        )
        if given
    ]
    if narrowed and not canary.features:
        raise ConfigError(
            f"canary.{narrowed[0]}",
            "says where, but no feature is confined to it; name some, such as `canary.features: [VersionGate]`",
        )


def check_controllers(canary: CanaryConfig, names: Collection[str]) -> None:
    """names: of the controllers that the fleet runs. Raises ConfigError."""
    for index, name in enumerate(canary.controllers):
        if name not in names:
            hint = suggestion(name, sorted(names), "this fleet runs")
            raise ConfigError(f"canary.controllers[{index}]", f"no controller is called {name!r}{hint}")


def check_labels(path: str, labels: Mapping[str, str]) -> None:
    """Whether they could be labels of a pod. Raises ConfigError."""
    for name, value in labels.items():
        prefix, slash, word = name.rpartition("/")
        whole = bool(_LABEL_WORD.fullmatch(word)) and len(word) <= _LONGEST_WORD
        if not whole or (slash and not (_PREFIX.fullmatch(prefix) and len(prefix) <= _LONGEST_PREFIX)):
            raise ConfigError(
                path,
                f"{name!r} is no name of a label; write letters, digits, '-', '_' and '.', at most {_LONGEST_WORD},"
                " with a DNS name and '/' before them if need be",
            )
        if value and not (_LABEL_WORD.fullmatch(value) and len(value) <= _LONGEST_WORD):
            raise ConfigError(
                path,
                f"{value!r} is no value of a label; write letters, digits, '-', '_' and '.', at most {_LONGEST_WORD}",
            )


def parse_labels(path: str, texts: Collection[str]) -> dict[str, str]:
    """From `name=value` each. path: where they were written. Raises ConfigError."""
    labels: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(path, f"{text!r} is no label; write name=value")
        if labels.get(name, value) != value:
            raise ConfigError(path, f"the label {name!r} is given twice, as {labels[name]!r} and as {value!r}")
        labels[name] = value
    check_labels(path, labels)
    return labels


def _check_feature(path: str, name: str) -> None:
    if name not in set(Feature):
        raise ConfigError(path, f"there is no feature gate {name!r}{suggestion(name, BUILT, 'known are')}")
    if name not in BUILT:
        raise ConfigError(
            path, f"this version does not have {name}, so that no part of the fleet could try it; leave it out"
        )
