"""Writes fleet/devcluster/protobuf/messages.jsonl: the protobuf messages of the API types, from the Go modules.

    python -m tests.contract.write_messages          writes the file
    python -m tests.contract.write_messages --check  exits 1 where the file is not what it would write

generated.proto has the numbers and types of fields; the tags in types.go have their JSON names, and tell pointers and
inlined structs, which protobuf does not know.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "fleet" / "devcluster" / "protobuf" / "messages.jsonl"
MODULES = ("k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator")
STABLE = re.compile(r"v\d+$")
SCALARS = frozenset(("string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double", "float"))

_PACKAGE = re.compile(r"^package ([\w.]+);", re.MULTILINE)
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (optional|repeated|required) ([\w.]+) (\w+) = (\d+);", re.MULTILINE)
_MAP = re.compile(r"^  map<string, ([\w.]+)> (\w+) = (\d+);", re.MULTILINE)
_STRUCT = re.compile(r"^(?:type )?\t?(\w+) struct \{\n(.*?)^\t?\}", re.MULTILINE | re.DOTALL)
_MEMBER = re.compile(r'^\s+(?:\w+\s+)?([*\[\]\w.]+)\s+`.*?json:"([^"]*)".*?protobuf:"[^,"]*,(\d+)', re.MULTILINE)

Member = tuple[str, bool, bool]
"""JSON name, whether a zero is kept, whether the struct is inlined."""


def module_directories() -> list[Path]:
    command = ["go", "list", "-m", "-f", "{{.Dir}}", *MODULES]
    found = subprocess.run(command, cwd=HERE.parent / "cluster", check=True, capture_output=True, text=True)
    return [Path(line) for line in found.stdout.split()]


def members(directory: Path) -> dict[tuple[str, int], Member]:
    """By struct and field number, from all Go files of a package that declare types."""
    found: dict[tuple[str, int], Member] = {}
    for file in sorted(directory.glob("*.go")):
        if file.name.startswith(("zz_", "generated")) or file.name.endswith("_test.go"):
            continue
        for name, body in _STRUCT.findall(file.read_text(encoding="utf-8")):
            for go_type, tag, number in _MEMBER.findall(body):
                json_name, *options = tag.split(",")
                pointer = go_type.startswith("*")
                inline = not json_name
                found[name, int(number)] = json_name, pointer or "omitempty" not in options, inline
    return found


def messages(proto: Path) -> Iterator[dict[str, object]]:
    text = proto.read_text(encoding="utf-8")
    package = _PACKAGE.findall(text)[0]
    known = members(proto.parent)
    for name, body in _MESSAGE.findall(text):
        found = _FIELD.findall(body)
        fields = [(int(number), each, kind, "r" * (label == "repeated")) for label, kind, each, number in found]
        fields += [(int(number), each, kind, "m") for kind, each, number in _MAP.findall(body)]
        lines = []
        for number, each, kind, flags in sorted(fields):
            json_name, keeps, inline = known.get((name, number), (each, False, False))
            shown = _qualified(kind, package)
            flags += "k" * keeps + "i" * inline
            lines.append(f"{number} {json_name or each} {shown} {flags}".rstrip())
        yield {"message": f"{package}.{name}", "fields": lines}


def _qualified(kind: str, package: str) -> str:
    if kind in SCALARS:
        return kind
    return kind.removeprefix(".") if kind.startswith(".") else f"{package}.{kind}"


def content() -> str:
    found = {}
    for module in module_directories():
        for proto in sorted(module.rglob("generated.proto")):
            if not (STABLE.match(proto.parent.name) or "apimachinery" in str(proto)):
                continue
            for message in messages(proto):
                found[str(message["message"])] = message
    lines = (json.dumps(found[name], separators=(",", ":")) for name in sorted(found))
    return "".join(f"{line}\n" for line in lines)


def main() -> int:
    wanted = content()
    if "--check" in sys.argv[1:]:
        return int(not TARGET.exists() or TARGET.read_text(encoding="utf-8") != wanted)
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
