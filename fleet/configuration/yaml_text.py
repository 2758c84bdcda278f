"""YAML that people write: what a file says, or one sentence about what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from shards.errors import ConfigError

_OF_VALUES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the loader raises, beside its own errors, for a date with a thirteenth month, a number of thousands of digits,
a tag that does not fit its value."""


def text_of_file(path: str | Path, what: str) -> str:
    """what: "the config file". Raises ConfigError."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError("", f"cannot read {what} {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError("", f"{what} {path} is not UTF-8 text") from error


def decoded(text: str) -> Any:
    """The one document of a text. Raises ConfigError."""
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise ConfigError("", f"not valid YAML{where}: {getattr(error, 'problem', None) or error}") from error
    except _OF_VALUES as error:
        raise ConfigError("", f"a value is not what it looks like: {error}; put it in quotes") from error
    except RecursionError:
        raise ConfigError("", "it is nested too deeply") from None


class _StrictLoader(yaml.SafeLoader):
    """A safe loader that refuses a field given twice, of which the last would win silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key.value, str) and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the field {key.value!r} is given twice", key.start_mark
                )
            if isinstance(key.value, str):
                seen.add(key.value)
        return super().construct_mapping(node, deep)
