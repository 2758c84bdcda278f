"""An experiment: a file in the shape of chaostoolkit, read and checked before anything is started.

Supported: title, description, version, tags, steady-state-hypothesis, method, rollbacks; Python providers; pauses. The
target stands under `extensions`, where chaostoolkit leaves room for others. What is not supported is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from chaos.documents.fields import Fields
from chaos.documents.provider import Provider, parse_provider
from chaos.documents.settings import TargetSettings, parse_settings
from chaos.documents.tolerance import Tolerance, parse_tolerance
from fleet.configuration.config_errors import suggestion
from shards.errors import ConfigError

EXTENSION = "shardfleet"
CONTROL = "chaos.toolkit"
"""Module of the control through which chaostoolkit starts the fleet."""
_INVARIANT = re.compile("I([1-9]|1[0-9]|2[0-7])")
SUFFIXES = (".yaml", ".yml", ".json")
FIELDS = (
    "version",
    "title",
    "description",
    "tags",
    "steady-state-hypothesis",
    "method",
    "rollbacks",
    "extensions",
    "controls",
)
_LATER = {
    "configuration": "write the values where they are used",
    "secrets": "read what is secret inside the function",
    "dry": "leave it out",
}
_LATER_IN_ACTIVITY = {
    "background": "activities run one after the other",
    "timeout": "let the function end by itself",
    "controls": "leave them out",
    "configuration": "write the values as arguments",
    "secrets": "read what is secret inside the function",
}


@dataclass(frozen=True, slots=True)
class Activity:
    """type: "action" or "probe". tolerance: on the probes of the hypothesis, and only there. Pauses are seconds."""

    type: str
    name: str
    provider: Provider
    pause_before: float
    pause_after: float
    tolerance: Tolerance | None


@dataclass(frozen=True, slots=True)
class Hypothesis:
    title: str
    probes: tuple[Activity, ...]


@dataclass(frozen=True, slots=True)
class Experiment:
    """document: the file as it was read, for the journal. attacks: the invariants that it tries to break.

    promises: what holds instead where it goes beyond a stated limit; "" where everything holds.
    """

    title: str
    description: str
    hypothesis: Hypothesis
    method: tuple[Activity, ...]
    rollbacks: tuple[Activity, ...]
    settings: TargetSettings
    attacks: tuple[str, ...]
    promises: str
    document: Mapping[str, Any]


def names() -> list[str]:
    """Of the experiments that come with the package, sorted."""
    files = resources.files("chaos").joinpath("experiments").iterdir()
    return sorted(Path(file.name).stem for file in files if file.name.endswith(SUFFIXES))


def load_experiment(name_or_path: str) -> Experiment:
    """One that comes with the package, by name, or any file, by its path. Raises ConfigError."""
    return parse_experiment(_read(name_or_path))


def parse_experiment(text: str) -> Experiment:
    """From the text of a file, YAML or JSON. Raises ConfigError."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError("", f"the experiment is not valid YAML: {error}") from error
    if not isinstance(document, dict):
        raise ConfigError("", "the experiment must be a mapping of fields that begins with `title: ...`")
    return parse_document(document)


def parse_document(document: dict[str, Any]) -> Experiment:
    """From a file that somebody has read. Raises ConfigError."""
    fields = Fields(document, "")
    fields.known(FIELDS, unsupported=_LATER)
    fields.value("method", "a list of activities")
    _controls(fields)
    extension = _extension(fields)
    for path, tag in fields.items("tags"):
        if not isinstance(tag, str):
            raise ConfigError(path, f"{tag!r} is not text")
    return Experiment(
        title=fields.text("title", "one sentence that names what must hold"),
        description=fields.text("description", "what is done, and why it should not matter"),
        hypothesis=_hypothesis(
            fields.value("steady-state-hypothesis", "a title and probes"), "steady-state-hypothesis"
        ),
        method=tuple(_activity(item, path) for path, item in fields.items("method")),
        rollbacks=tuple(_activity(item, path) for path, item in fields.items("rollbacks")),
        settings=parse_settings(extension.value("target", "what the experiment runs on"), extension.at("target")),
        attacks=_attacks(extension),
        promises=extension.text("promises", "what holds instead") if extension.given("promises") else "",
        document=document,
    )


def _read(name_or_path: str) -> str:
    path = Path(name_or_path)
    if path.suffix in SUFFIXES:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError("", f"cannot read the experiment {path}: {error}") from error
    directory = resources.files("chaos").joinpath("experiments")
    for file in directory.iterdir():
        if file.name in {f"{name_or_path}{suffix}" for suffix in SUFFIXES}:
            return file.read_text(encoding="utf-8")
    hint = suggestion(name_or_path, names(), "there are")
    raise ConfigError("", f"there is no experiment {name_or_path!r}{hint}, or give the path of a .yaml or .json file")


def _hypothesis(value: object, path: str) -> Hypothesis:
    fields = Fields(value, path)
    fields.known(("title", "probes"), unsupported={"controls": "leave them out"})
    probes = tuple(_activity(item, where, judged=True) for where, item in fields.items("probes"))
    if not probes:
        raise ConfigError(fields.at("probes"), "a hypothesis without probes judges nothing; write at least one")
    return Hypothesis(fields.text("title", "what the steady state is"), probes)


def _activity(value: object, path: str, *, judged: bool = False) -> Activity:
    """judged: a probe of the hypothesis."""
    fields = Fields(value, path)
    fields.known(
        ("type", "name", "provider", "pauses", *(("tolerance",) if judged else ())), unsupported=_LATER_IN_ACTIVITY
    )
    kind = fields.word("type", ("probe",) if judged else ("action", "probe"))
    pauses = fields.mapping("pauses")
    pauses.known(("before", "after"), unsupported={})
    tolerance = None
    if judged:
        wanted = fields.value("tolerance", "what the probe may answer, such as true or [0, 2]")
        tolerance = parse_tolerance(wanted, fields.at("tolerance"))
    return Activity(
        type=kind,
        name=fields.text("name", "a name for this activity"),
        provider=parse_provider(
            fields.value("provider", "a mapping with type, module and func"), fields.at("provider")
        ),
        pause_before=pauses.seconds("before", 0.0),
        pause_after=pauses.seconds("after", 0.0),
        tolerance=tolerance,
    )


def _extension(fields: Fields) -> Fields:
    for path, item in fields.items("extensions"):
        extension = Fields(item, path)
        if extension.text("name", EXTENSION) == EXTENSION:
            extension.known(("name", "target", "attacks", "promises"), unsupported={})
            return extension
    raise ConfigError("extensions", f"this field is required; write one named {EXTENSION} with a target")


def _attacks(extension: Fields) -> tuple[str, ...]:
    found = []
    for path, item in extension.items("attacks"):
        if not isinstance(item, str) or not _INVARIANT.fullmatch(item):
            raise ConfigError(path, f"{item!r} is no invariant; write I1 to I27")
        found.append(item)
    return tuple(found)


def _controls(fields: Fields) -> None:
    """chaostoolkit starts the fleet through a control; we need none, and refuse others."""
    for path, item in fields.items("controls"):
        control = Fields(item, path)
        if control.mapping("provider").as_dict().get("module") != CONTROL:
            raise ConfigError(path, f"not supported but for that of {CONTROL}; leave it out")
