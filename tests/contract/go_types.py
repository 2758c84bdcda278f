"""How the Go types behind the schemas are written as JSON: what OpenAPI does not tell, read from their sources.

A field that holds its zero value is left out where it is tagged so and no pointer; a list or a map that is missing is
written as null where it is not tagged so, and a time that is missing nearly everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.M | re.S)
_ALIAS = re.compile(r"^type (\w+) (?!struct\b)(\S+)$", re.M)
_FIELD = re.compile(r'^\t(?:(\w+)\s+)?([\w.*\[\]]+)\s+`.*?json:"([^"]*)"', re.M)
_SCALARS = re.compile(r"^(string|bool|u?int\d*|float\d+|byte|types\.UID)$")
_TIMES = ("metav1.Time", "metav1.MicroTime", "Time", "MicroTime", "v1.Time", "v1.MicroTime")
_PACKAGES = {
    "io.k8s.api.": "api",
    "io.k8s.apimachinery.": "apimachinery",
    "io.k8s.apiextensions-apiserver.": "apiextensions-apiserver",
    "io.k8s.kube-aggregator.": "kube-aggregator",
}


@dataclass(frozen=True)
class Facts:
    """Names of JSON fields of one type. left_out: not written when zero. null: written as null when missing."""

    left_out: tuple[str, ...]
    null: tuple[str, ...]


def facts(names: Iterable[str], modules: Mapping[str, Path]) -> Iterator[tuple[str, Facts]]:
    """Of the schemas with these names, where there is anything to say. modules: source directories by module."""
    for name in names:
        found = _facts(name, modules)
        if found is not None and (found.left_out or found.null):
            yield name, found


def _facts(name: str, modules: Mapping[str, Path]) -> Facts | None:
    prefix = next((each for each in _PACKAGES if name.startswith(each)), "")
    if not prefix:
        return None
    *parts, kind = name.removeprefix(prefix).split(".")
    directory = modules[_PACKAGES[prefix]].joinpath(*parts)
    if not directory.is_dir():
        return None
    structs, aliases = _sources(directory)
    if kind not in structs:
        return None
    left_out, null = [], []
    for field, written, options in _fields(structs, kind):
        basis = _resolved(written, aliases)
        scalar, time = _SCALARS.match(basis) or basis == "[]byte", written in _TIMES
        if "omitempty" in options and scalar:
            left_out.append(field)
        # No struct is ever empty to Go; a time that is not set is written as null.
        elif "omitzero" not in options and (time or ("omitempty" not in options and basis.startswith(("[]", "map[")))):
            null.append(field)
    return Facts(tuple(left_out), tuple(null))


def _fields(structs: Mapping[str, str], kind: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """JSON name, Go type and tag options of every field; those of inlined structs of the package too."""
    for _, written, tag in _FIELD.findall(structs[kind]):
        field, *options = tag.split(",")
        if field:
            yield field, written, tuple(options)
        elif "inline" in options and written in structs:
            yield from _fields(structs, written)


def _resolved(written: str, aliases: Mapping[str, str]) -> str:
    while written in aliases:
        written = aliases[written]
    return written


@cache
def _sources(directory: Path) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Bodies of structs and targets of other types, by name."""
    text = "\n".join(
        each.read_text() for each in sorted(directory.glob("*.go")) if not each.name.startswith(("zz_", "generated"))
    )
    return dict(_STRUCT.findall(text)), dict(_ALIAS.findall(text))
