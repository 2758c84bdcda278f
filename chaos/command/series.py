"""Runs the experiments that were asked for, one after the other, each on a fleet of its own."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import msgspec

from chaos.command.asked import Asked, said_of
from chaos.command.broken_fleet import without
from chaos.command.reporting import Reporting, rooms
from chaos.documents.experiment import Experiment
from chaos.running.interrupts import signals_as_ctrl_c
from chaos.running.journal import Journal
from chaos.running.lines import activity_line, verdict_line
from chaos.running.session import carry_out
from chaos.targets.kube import KubeFleet
from chaos.targets.opening import open_bed
from chaos.targets.planes import Planes, Say
from chaos.targets.pod import RUN
from chaos.targets.target import Target
from fleet.commands.exit_codes import EXIT_INTERRUPTED, EXIT_RUN_TIME
from fleet.records.object_names import Names
from shards.errors import ConfigError, ShardError

_NUMBERS = 10**9


def run_series(asked: Asked) -> int:
    """Returns the exit code: that of the worst of them."""
    reporting = Reporting(asked.report, asked.markdown, asked.keep)
    try:
        return _run_all(asked, reporting)
    finally:
        reporting.write()


def _run_all(asked: Asked, reporting: Reporting) -> int:
    journals: list[Journal] = []
    room = rooms(asked.experiments)
    _check_empty(asked.keep, room.values())
    _check_controllers(asked)

    def say(text: str) -> None:
        click.echo(text, err=asked.as_json)

    # A server that is given may hold what earlier series have left.
    first = secrets.randbelow(_NUMBERS) if asked.kubeconfig is not None else 0
    with signals_as_ctrl_c(), _planes(say) as planes:
        for number, (name, experiment) in enumerate(asked.experiments.items(), start=first):
            say(f"{name}: {experiment.title}")
            started, begun = datetime.now(UTC).isoformat(), len(journals)
            try:
                with _target(asked, room[name], experiment, number, planes, say) as target:
                    journal = carry_out(
                        experiment,
                        target,
                        heard=lambda phase, done: say(f"  {activity_line(phase, done)}"),
                        judging=lambda: None,
                    )
                    journal.name, journal.without = room[name], asked.broken_rule
                    journals.append(journal)
                    reporting.hear(journal, target)
            except ConfigError:
                raise
            except ShardError as error:
                if len(journals) == begun:  # it did not start: the others may
                    journals.append(not_started(experiment, asked, room[name], started, error))
                    reporting.hear(journals[-1], None)
                elif not journal.trouble:
                    journal.trouble = f"the target did not end as it should: {error}"
            journal = journals[-1]
            say(f"  {verdict_line(journal)}")
            if asked.as_json:
                click.echo(msgspec.json.encode(journal.as_dict()).decode())
            if journal.status == "interrupted":
                return EXIT_INTERRUPTED
    return 0 if all(each.passed for each in journals) else EXIT_RUN_TIME


def _check_empty(keep: Path | None, rooms: Iterable[str]) -> None:
    """What another run has left would be judged with this one. Raises ConfigError."""
    for room in [keep / each for each in rooms] if keep is not None else ():
        if room.exists() and any(room.iterdir()):
            raise ConfigError("--keep", f"{room} holds what another run has left; remove it, or name another directory")


def _check_controllers(asked: Asked) -> None:
    """Before anything is started, so that a series does not end in its middle. Raises ConfigError."""
    for name, experiment in asked.experiments.items() if asked.target != "kube" else ():
        if experiment.settings.controller:
            with said_of(name, among=asked.experiments):
                open_bed(asked.target, experiment.settings)


def not_started(experiment: Experiment, asked: Asked, name: str, started: str, error: ShardError) -> Journal:
    """The journal of an experiment whose target did not start."""
    return Journal(
        experiment=dict(experiment.document),
        start=started,
        end=started,
        status="aborted",
        target=asked.target,
        name=name,
        without=asked.broken_rule,
        trouble=f"the target did not start: {error}",
    )


@contextmanager
def _planes(say: Say) -> Iterator[Planes]:
    """Nothing is started before it is asked for."""
    with TemporaryDirectory(prefix="chaos-") as directory, Planes(Path(directory), say) as planes:
        yield planes


@contextmanager
def _target(asked: Asked, name: str, experiment: Experiment, number: int, planes: Planes, say: Say) -> Iterator[Target]:
    if asked.target == "kube":
        names = Names(asked.fleet, asked.namespace)
        with KubeFleet(names, kubeconfig=asked.kubeconfig, context=asked.context, primary=asked.primary) as fleet:
            pods = ", ".join(fleet.pods.names()) or "none"
            say(f"  the fleet {asked.fleet} in {asked.namespace} of {fleet.host}: {fleet.ranges} ranges, pods {pods}")
            yield fleet
        return
    keep = None if asked.keep is None else asked.keep / name
    command = without(asked.broken_rule) if asked.broken_rule else RUN
    with open_bed(
        asked.target,
        experiment.settings,
        kubeconfig=asked.kubeconfig,
        planes=planes,
        number=number,
        say=say,
        keep=keep,
        command=command,
    ) as bed:
        yield bed
