"""What is wrong with a config file, in the words of the file: msgspec's messages, translated.

Knows the shape of `FleetConfig`, so that it can name the nearest field or the values that a field takes.
"""

from __future__ import annotations

import difflib
import re
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fleet.configuration.config import FleetConfig
from shards.errors import ConfigError

_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at (?:`key` in )?`\$\.?(?P<path>[^`]*)`)?", re.DOTALL)
_NUMBER_WITH_UNIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)[a-z]*\s*")
_SECONDS_PER_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BRIEF = reprlib.Repr()
_BRIEF.maxlevel = 2
_SOME_VALUE = "[...]"
"""How msgspec ends the path of a value in a mapping whose names are free, such as labels."""
_KINDS = {
    "object": "a mapping of fields",
    "array": "a list",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}


def translate(message: str, document: Mapping[str, Any]) -> ConfigError:
    """The error for msgspec's message about a document."""
    found = _MESSAGE.fullmatch(message)
    what, path = (found["what"], found["path"] or "") if found else (message, "")
    if "`key` in" in message:
        return ConfigError(path, "the names of fields must be text")
    if unknown := re.search(r"contains unknown field `(.*)`", what):
        return ConfigError(_join(path, unknown[1]), f"there is no such field{_field_hint(path, unknown[1])}")
    if missing := re.search(r"missing required field `(.*)`", what):
        return ConfigError(_join(path, missing[1]), "this field is required")
    if path.endswith(_SOME_VALUE):
        return _no_text(path.removesuffix(_SOME_VALUE), document)
    value = _value_at(document, path)
    if choices := _choices_at(path):
        return ConfigError(path, f"{_shown(value)} is not allowed{suggestion(_word(value), choices, 'write one of')}")
    wanted = re.search(r"Expected `(.*?)`", what)
    if wanted is None:
        return ConfigError(path, what)
    kinds = [_KINDS.get(kind, kind) for kind in wanted[1].split(" | ") if kind != "null"]
    shown = "nothing" if value is None else _shown(value)
    return ConfigError(path, f"{shown} is not {' or '.join(kinds)}{_unit_hint(value)}")


def _no_text(path: str, document: Mapping[str, Any]) -> ConfigError:
    """Of a mapping whose values are all to be text: the first that is not."""
    entries: Any = _value_at(document, path)
    name, value = next((name, value) for name, value in entries.items() if not isinstance(value, str))
    hint = f'; write it in quotes: "{value}"' if isinstance(value, int | float) and not isinstance(value, bool) else ""
    return ConfigError(_join(path, name), f"{'nothing' if value is None else _shown(value)} is not text{hint}")


def _shown(value: object) -> str:
    """In short where it is no single value: aliases of YAML can make a list endless, or its text."""
    return _BRIEF.repr(value) if isinstance(value, dict | list | set | tuple) else repr(value)


def _word(value: object) -> str:
    return value if isinstance(value, str) else _shown(value)


def suggestion(word: str, known: Sequence[str], otherwise: str) -> str:
    """'; did you mean X?' for a near miss, else '; <otherwise> A, B, C'; "" when nothing is known."""
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold().replace("_", ""), folded, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {folded[near[0]]}?"
    return f"; {otherwise} {', '.join(known)}" if known else ""


def _field_hint(path: str, field: str) -> str:
    """The nearest field of the section; else the same field of another section; else what the section knows."""
    here = _fields_at(path)
    near = suggestion(field, here, "")
    if near.startswith("; did you mean"):
        return near
    elsewhere = {name.casefold(): _join(section, name) for section in _fields_at("") for name in _fields_at(section)}
    if moved := elsewhere.get(field.casefold().replace("_", "")):
        return f"; did you mean {moved}?"
    return suggestion(field, here, "known are")


def _unit_hint(value: object) -> str:
    measured = _NUMBER_WITH_UNIT.fullmatch(value) if isinstance(value, str) else None
    if measured is None:
        return ""
    return f"; write seconds without a unit: {float(measured[1]) * _SECONDS_PER_UNIT[measured[2]]:g}"


def _join(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def _type_at(path: str) -> Any:
    """The type that the file's format declares at a dotted path; None where there is no such field."""
    kind: Any = FleetConfig
    for name in filter(None, path.split(".")):
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            return None
        kind = next((field.type for field in msgspec.structs.fields(kind) if field.encode_name == name), None)
    return kind


def _fields_at(path: str) -> list[str]:
    kind = _type_at(path)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [field.encode_name for field in msgspec.structs.fields(kind)]
    return []


def _choices_at(path: str) -> list[str]:
    """Values of a field that takes one of a few words, [] for any other field."""
    kind = _type_at(path)
    info = None if kind is None else msgspec.inspect.type_info(kind)
    if isinstance(info, msgspec.inspect.LiteralType):
        return [str(value) for value in info.values]
    if isinstance(info, msgspec.inspect.EnumType):
        return [str(member.value) for member in info.cls]
    return []


def _value_at(document: object, path: str) -> object:
    value: Any = document
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        try:
            value = value[int(index)] if index else value[name]
        except (KeyError, IndexError, TypeError):
            return None
    return value
