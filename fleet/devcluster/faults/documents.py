"""Faults as JSON or YAML: `{"fault": "delay_events", "match": {"member": "b"}, "seconds": 5}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import get_args

import msgspec

from fleet.configuration.config_errors import suggestion
from fleet.devcluster.faults.match import Events, Match
from fleet.devcluster.faults.words import Fault, Word
from shards.errors import ConfigError

WORDS: dict[str, type[Fault]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Word)}
"""Word and type of every fault."""

_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>[^`]*)`)?", re.DOTALL)
_PARTS: dict[str, type[msgspec.Struct]] = {"match": Match, "events": Events}


def read_fault(document: object, path: str = "") -> Word:
    """document: decoded JSON or YAML. path: where it stands, for errors. Raises ConfigError that names the field."""
    if not isinstance(document, dict):
        raise ConfigError(path, f"{document!r} is no fault; write a mapping with the field fault")
    if unnamed := [key for key in document if not isinstance(key, str)]:
        raise ConfigError(path, f"{unnamed[0]!r} is no name of a field")
    word = document.get("fault")
    if not isinstance(word, str) or word not in WORDS:
        raise ConfigError(
            _join(path, "fault"), f"{word!r} is no fault{suggestion(str(word), list(WORDS), 'known are')}"
        )
    try:
        with placed(path):
            fault: Word = msgspec.convert(document, Word)
    except msgspec.ValidationError as error:
        raise translated(str(error), WORDS[word], path, _PARTS) from None
    return fault


def read_faults(document: object) -> list[Word]:
    """One fault or a list of them. Raises ConfigError."""
    if isinstance(document, list):
        return [read_fault(each, f"[{index}]") for index, each in enumerate(document)]
    return [read_fault(document)]


@contextmanager
def placed(path: str) -> Iterator[None]:
    """Errors raised within name their field from there. Raises ConfigError."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(_join(path, error.path), str(error).removeprefix(f"{error.path}: ")) from None


def written(fault: Fault) -> dict[str, object]:
    """The inverse of `read_fault`, without what is default."""
    plain: dict[str, object] = msgspec.to_builtins(fault)
    defaults = {field.name: field.default for field in msgspec.structs.fields(type(fault))}
    return {name: value for name, value in plain.items() if value not in ({}, defaults.get(name, msgspec.NODEFAULT))}


def translated(
    message: str, kind: type[msgspec.Struct], path: str, parts: Mapping[str, type[msgspec.Struct]]
) -> ConfigError:
    """The error for msgspec's message about a document that is no `kind`, and stands at `path`. parts: types of those
    of its fields that are mappings."""
    found = _MESSAGE.fullmatch(message)
    what, inner = (found["what"], found["path"] or "") if found else (message, "")
    if unknown := re.search(r"contains unknown field `(.*)`", what):
        known = [field.name for field in msgspec.structs.fields(parts.get(inner, kind))]
        hint = suggestion(unknown[1], known, "known are")
        return ConfigError(_join(path, _join(inner, unknown[1])), f"there is no such field{hint}")
    if missing := re.search(r"missing required field `(.*)`", what):
        return ConfigError(_join(path, _join(inner, missing[1])), "this field is required")
    return ConfigError(_join(path, inner), what[:1].lower() + what[1:])


def _join(path: str, field: str) -> str:
    return f"{path}.{field}" if path and field else path or field
