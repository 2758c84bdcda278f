"""What the command line of `fleet chaos run` asks for, checked."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.command.storms import STORM, with_storms
from chaos.documents.experiment import Experiment, load_experiment
from chaos.documents.experiment import names as known_names
from shards.errors import ConfigError
from shards.objects import Resource


@dataclass(frozen=True, slots=True)
class Asked:
    """experiments: by name, in order. The rest as in the command's help."""

    experiments: dict[str, Experiment]
    target: str
    kubeconfig: Path | None
    context: str | None
    namespace: str
    fleet: str
    primary: Resource | None
    as_json: bool
    report: Path | None
    markdown: Path | None
    keep: Path | None
    broken_rule: str


def asked(names: tuple[str, ...], *, every: bool, consent: bool, target: str, **options: Any) -> Asked:
    """Raises ConfigError."""
    if every and names:
        raise ConfigError("--all", f"it names all experiments; leave {' '.join(names)} out")
    if not every and not names:
        raise ConfigError("NAME", "name an experiment (`fleet chaos list` shows them), or write --all")
    if target == "kube":
        _check_consent(consent, options)
    _check_meaning(target, {"yes_break_my_fleet": consent, **options})
    # Who asks for all of them does not ask for an hour of one.
    every_name = [name for name in known_names() if name != STORM or options["seconds"] is not None]
    experiments: dict[str, Experiment] = {}
    for name in every_name if every else names:
        with said_of(name, among=names):
            experiments[name] = load_experiment(name)
    experiments = with_storms(experiments, seconds=options.pop("seconds"), seed=options.pop("seed"))
    fitting = {name: each for name, each in experiments.items() if target in each.settings.targets}
    if not every and len(fitting) < len(experiments):
        name = next(each for each in experiments if each not in fitting)
        on = " and ".join(experiments[name].settings.targets)
        raise ConfigError("--target", f"{name} cannot run on {target}; it runs on {on}")
    return Asked(
        experiments=fitting,
        target=target,
        namespace=options.pop("namespace") or "",
        fleet=options.pop("fleet") or "",
        primary=_primary(options.pop("primary")),
        **options,
    )


@contextmanager
def said_of(name: str, *, among: Collection[str]) -> Iterator[None]:
    """What is wrong with one of several experiments is said with its name."""
    try:
        yield
    except ConfigError as error:
        if len(among) < 2:
            raise
        raise ConfigError(name, str(error)) from error


def _check_meaning(target: str, given: dict[str, Any]) -> None:
    """Who names a cluster or a fleet must not get another one, and a verdict about that."""
    of_a_fleet = ("yes_break_my_fleet", "namespace", "fleet", "primary", "context")
    idle = {"dev": ("kubeconfig", *of_a_fleet), "real": of_a_fleet, "kube": ("broken_rule",)}[target]
    for name in idle:
        if given[name]:
            option = "--break" if name == "broken_rule" else f"--{name.replace('_', '-')}"
            raise ConfigError(option, f"it says nothing with --target {target}; leave it out")


def _primary(text: str | None) -> Resource | None:
    if text is None:
        return None
    try:
        return Resource.parse(text)
    except ValueError as error:
        raise ConfigError("--primary", f"{error}; write a resource such as apps/v1/deployments") from error


def _check_consent(consent: bool, options: dict[str, Any]) -> None:
    if not options["namespace"]:
        raise ConfigError("--namespace", "name the namespace of the fleet that is to be broken")
    if not options["fleet"]:
        raise ConfigError("--fleet", "name the fleet that is to be broken")
    if not consent:
        raise ConfigError(
            "--yes-break-my-fleet",
            f"this kills processes and edits records of the fleet {options['fleet']} in {options['namespace']}; write"
            " the option if that is what you want",
        )
