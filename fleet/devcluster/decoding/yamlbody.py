"""Bodies in YAML, read as the real server does: YAML 1.1 turned into JSON. Pure."""

from __future__ import annotations

import re
from typing import Any

import yaml

from fleet.devcluster.decoding.jsontext import JsonError, check_depth, too_deep


class YamlError(ValueError):
    """No YAML. The text is that of the real server."""


class TooDeep(YamlError):
    """YAML that is nested too deeply."""

    def __init__(self) -> None:
        super().__init__("yaml: exceeded max depth of 10000")


_HALF_PAIR = re.compile("[\ud800-\udfff]")


class _Loader(yaml.SafeLoader):
    """Without timestamps; with y and n as booleans. repeats: what was said of fields that are named twice."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.repeats: list[str] = []

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        text = super().construct_scalar(node)
        if not text.isascii() and _HALF_PAIR.search(text):
            raise YamlError("yaml: found invalid Unicode character escape code")
        return text

    def construct_number(self, node: yaml.ScalarNode) -> Any:
        try:
            return super().construct_yaml_int(node)
        except ValueError:  # more digits than Python converts: Go takes what is no number for a text
            return node.value

    def construct_text(self, node: yaml.ScalarNode) -> str:
        return str(node.value)

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
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_number)
for _tag, _constructor in (
    ("binary", _Loader.construct_text),
    ("timestamp", _Loader.construct_text),
    ("set", _Loader.construct_yaml_map),
    ("omap", _Loader.construct_yaml_seq),
    ("pairs", _Loader.construct_yaml_seq),
):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _constructor)
_NODES_LIMIT = 1_000_000
_Loader.bool_values = {**yaml.SafeLoader.bool_values, "y": True, "n": False}


def read_yaml(raw: bytes) -> tuple[Any, list[str]]:
    """The value, and a sentence for every field that is named twice. Raises YamlError."""
    try:
        if raw[:1] in (b"{", b"["):
            check_depth(raw)
        loader = _Loader(raw)
        value = loader.get_single_data()
    except YamlError:
        raise
    except (JsonError, RecursionError):
        raise TooDeep from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = (error.problem or "").replace("not allowed here", "not allowed in this context")
        raise YamlError(f"yaml: line {line}: {problem}") from None
    except yaml.YAMLError as error:
        raise YamlError(f"yaml: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        # A tag that does not suit its value, such as `!!float x`: the constructors of the library stumble over it.
        raise YamlError(f"yaml: cannot decode: {error}") from None
    if too_deep(value):
        raise TooDeep
    if b"*" in raw and _expanded(value, {}) > _NODES_LIMIT:
        raise YamlError("yaml: document contains excessive aliasing")
    return value, loader.repeats


def _expanded(value: Any, known: dict[int, int]) -> int:
    """How many values it holds when what is named several times is written out. known: by identity."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        items = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_expanded(each, known) for each in items)
    return known[id(value)]


def _key_text(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return key if isinstance(key, str) else str(key)
