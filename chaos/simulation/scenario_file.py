"""A plan as YAML that people read and write: one mapping, one line a strike.

seed: 17
chaos_seconds: 6.0
shape: {workers: 3, agents: 2}
strikes:
- {strike: crash, at: 1.5, process: a, back_after: 0.1}
- {strike: reshard, at: 2.0, shards: 6}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import yaml

from chaos.documents.fields import Fields
from chaos.simulation.plan import Plan, Shape, said_name, worker_name
from chaos.simulation.strikes import ONLY_AT_PROTOCOL, AnyStrike, Crash, Leave, StaleReplica, Storm, Strike
from fleet.configuration.config_errors import suggestion
from fleet.configuration.yaml_text import decoded, text_of_file
from fleet.devcluster.faults.documents import translated
from shards.errors import ConfigError

WORDS: dict[str, type[Strike]] = {str(kind.__struct_config__.tag): kind for kind in get_args(AnyStrike)}
"""Word and type of every strike."""


def read(path: Path) -> Plan:
    """Raises ConfigError that names the file, and the field in it that is wrong."""
    text = text_of_file(path, "the scenario")
    try:
        return parse(text)
    except ConfigError as error:
        raise ConfigError(str(path), str(error)) from error


def parse(text: str) -> Plan:
    """The inverse of `text_of`; comments are allowed, and fields that have a default may be left out. Raises
    ConfigError that names the field: `strikes[2].process`."""
    fields = Fields(decoded(text), "")
    _words(fields, Plan)
    strikes = [_strike(value, path) for path, value in fields.items("strikes")]
    try:
        plan = msgspec.convert(fields.as_dict() | {"strikes": ()}, Plan)
    except msgspec.ValidationError as error:
        raise translated(str(error), Plan, "", {"shape": Shape}) from None
    plan = msgspec.structs.replace(plan, strikes=tuple(strikes))
    check(plan)
    return plan


def text_of(plan: Plan) -> str:
    """Everything written down, what is default too, so that it stays what it is when a default changes."""
    plain: dict[str, Any] = msgspec.to_builtins(plan)
    strikes = plain.pop("strikes")
    lines = [f"{name}: {_flow(value)}" for name, value in plain.items()]
    lines += ["strikes:", *(f"- {_flow(each)}" for each in strikes)] if strikes else ["strikes: []"]
    return "\n".join(lines) + "\n"


def _flow(value: object) -> str:
    """On one line."""
    dumped = yaml.dump(value, Dumper=yaml.CSafeDumper, default_flow_style=True, sort_keys=False, width=10_000)
    return dumped.removesuffix("\n").removesuffix("\n...")


def _strike(document: object, path: str) -> AnyStrike:
    fields = Fields(document, path)
    word = fields.word("strike", list(WORDS))
    _words(fields, WORDS[word])
    try:
        strike: AnyStrike = msgspec.convert(fields.as_dict(), AnyStrike)
    except msgspec.ValidationError as error:
        raise translated(str(error), WORDS[word], path, {}) from None
    return strike


def _words(fields: Fields, kind: type[msgspec.Struct]) -> None:
    """Looks at fields that take one of a few words: msgspec does not say which."""
    for name, hint in get_type_hints(kind).items():
        if get_origin(hint) is Literal and fields.given(name):
            fields.word(name, get_args(hint))


def check(plan: Plan) -> None:
    """That those who are struck can be there, before all heals, and that somebody is left. Raises ConfigError."""
    stormers = sum(each.workers for each in plan.strikes if isinstance(each, Storm))
    workers = [worker_name(index) for index in range(plan.shape.workers + stormers)]
    names = [*workers, *plan.shape.agent_names]
    gone: set[str] = set()
    for index, each in enumerate(plan.strikes):
        if each.at >= plan.chaos_seconds:
            raise ConfigError(
                f"strikes[{index}].at",
                f"{each.at:g} is after the healing; write less than chaos_seconds, which is {plan.chaos_seconds:g}",
            )
        if plan.depth == "stack" and isinstance(each, ONLY_AT_PROTOCOL):
            word = each.__struct_config__.tag
            raise ConfigError(f"strikes[{index}].strike", f"{word!r} is not played there; write depth: protocol")
        process = getattr(each, "process", None)
        if process is not None and said_name(process) not in names:
            raise ConfigError(
                f"strikes[{index}].process", f"{process!r} is nobody here{suggestion(process, names, 'there are')}"
            )
        if isinstance(each, StaleReplica) and each.replica >= plan.shape.replicas:
            raise ConfigError(
                f"strikes[{index}].replica", f"{each.replica} is out of bounds; write 0 to {plan.shape.replicas - 1}"
            )
        if isinstance(each, Crash | Leave) and each.back_after is None:
            gone.add(each.process)
            for sort, those in (("worker", plan.shape.worker_names), ("agent", plan.shape.agent_names)):
                if gone.issuperset(those):
                    raise ConfigError(
                        f"strikes[{index}].back_after",
                        f"no {sort} would be left; write after how many seconds it is back",
                    )
