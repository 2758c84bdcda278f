"""Bodies in YAML, read as the real server does: YAML 1.1 turned into JSON. Pure."""

from __future__ import annotations

import re
from typing import Any

import yaml


class YamlError(ValueError):
    """No YAML. The text is that of the real server."""


class _Loader(yaml.SafeLoader):
    """Without timestamps; with y and n as booleans. repeats: what was said of fields that are named twice."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.repeats: list[str] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        self.flatten_mapping(node)
        made: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _key_text(self.construct_object(key_node, deep=True))
            if key in made:
                self.repeats.append(f'line {key_node.start_mark.line + 1}: key "{key}" already set in map')
            made[key] = self.construct_object(value_node, deep=True)
        return made


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^[yYnN]$"), list("yYnN"))
_Loader.bool_values = {**yaml.SafeLoader.bool_values, "y": True, "n": False}


def read_yaml(raw: bytes) -> tuple[Any, list[str]]:
    """The value, and a sentence for every field that is named twice. Raises YamlError."""
    try:
        loader = _Loader(raw)
        value = loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = (error.problem or "").replace("not allowed here", "not allowed in this context")
        raise YamlError(f"yaml: line {line}: {problem}") from None
    except yaml.YAMLError as error:
        raise YamlError(f"yaml: {error}") from None
    return value, loader.repeats


def _key_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return key if isinstance(key, str) else str(key)
