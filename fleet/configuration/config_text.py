"""Changes single fields in the text of a config file, and nothing beside them: comments and layout stay."""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from fleet.configuration.config_file import parse_config
from fleet.configuration.live_file import changes
from shards.errors import ConfigError


def edited(text: str, section: str, values: Mapping[str, int | str]) -> str:
    """The text with these fields of a section. values: by the name of the field, plain scalars.

    Raises ConfigError for a text that is no config, for values that it cannot have, and where the field is written in
    a way that only a person can change (an alias).
    """
    before = parse_config(text)
    for name, value in values.items():
        text = _with_field(text, section, name, str(value))
    after = parse_config(text)
    wrong = [path for path in changes(before, after) if path not in {f"{section}.{name}" for name in values}]
    if wrong:
        raise _by_hand(section, f"it would change {', '.join(wrong)} too")
    return text


def _with_field(text: str, section: str, name: str, value: str) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError("", "the config must be a mapping of fields that begins with `fleet: <name>`")
    found = _entry(root, section)
    if found is None:
        return _appended(text, root, section, name, value)
    key, node = found
    _check_place(key, node, section)
    if isinstance(node, yaml.ScalarNode):  # `shards:` with nothing in it
        start, end = node.start_mark.index, node.end_mark.index
        return f"{text[:start]}{' ' if start == end else ''}{{{name}: {value}}}{text[end:]}"
    assert isinstance(node, yaml.MappingNode), "parse_config has read it"
    field = _entry(node, name)
    if field is not None:
        _check_place(*field, f"{section}.{name}")
        start, end = field[1].start_mark.index, field[1].end_mark.index
        return f"{text[:start]}{value}{text[end:]}"
    if node.flow_style:
        start = node.start_mark.index + 1
        return f"{text[:start]}{name}: {value}{', ' if node.value else ''}{text[start:]}"
    first = node.value[0][0].start_mark
    return f"{text[: first.index]}{name}: {value}\n{' ' * first.column}{text[first.index :]}"


def _entry(node: yaml.MappingNode, name: str) -> tuple[yaml.Node, yaml.Node] | None:
    return next(((key, value) for key, value in node.value if key.value == name), None)


def _check_place(key: yaml.Node, node: yaml.Node, path: str) -> None:
    """An alias stands for a value that is written elsewhere, where others may use it too."""
    if node.start_mark.index < key.end_mark.index:
        raise _by_hand(path, "it is an alias")


def _appended(text: str, root: yaml.MappingNode, section: str, name: str, value: str) -> str:
    if root.flow_style:
        start = root.start_mark.index + 1
        return f"{text[:start]}{section}: {{{name}: {value}}}{', ' if root.value else ''}{text[start:]}"
    first = root.value[0][0].start_mark
    line = text.rfind("\n", 0, first.index) + 1
    indent = text[line : first.index]
    if indent.strip():
        raise _by_hand(section, "the document begins in the middle of a line")
    return f"{text[:line]}{indent}{section}:\n{indent}  {name}: {value}\n{text[line:]}"


def _by_hand(path: str, why: str) -> ConfigError:
    return ConfigError(path, f"cannot be changed by a command, because {why}; change it in the ConfigMap by hand")
