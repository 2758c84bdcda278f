"""One mapping of an experiment file, read field by field; what is wrong becomes a ConfigError that names the path."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fleet.configuration.config_errors import suggestion
from shards.errors import ConfigError


class Fields:
    """A mapping found at `path` ("" for the file as a whole). Every method raises ConfigError."""

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, dict):
            raise ConfigError(path, f"{shown(value)} is not a mapping of fields")
        self._values: Mapping[Any, Any] = value
        self.path = path

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def known(self, names: Iterable[str], *, unsupported: Mapping[str, str]) -> None:
        """Refuses every field but `names`. unsupported: fields of the format that cannot be honoured yet, and what to
        do instead."""
        allowed = list(names)
        for name in self._values:
            if name in unsupported:
                raise ConfigError(self.at(str(name)), f"not supported yet; {unsupported[name]}")
            if name not in allowed:
                raise ConfigError(
                    self.at(str(name)), f"there is no such field{suggestion(str(name), allowed, 'known are')}"
                )

    def given(self, name: str) -> bool:
        return name in self._values

    def value(self, name: str, example: str) -> Any:
        """Whatever is there; it must be."""
        if name not in self._values:
            raise ConfigError(self.at(name), f"this field is required; write {example}")
        return self._values[name]

    def text(self, name: str, example: str) -> str:
        """Text that is not empty."""
        value = self.value(name, example)
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(self.at(name), f"{shown(value)} is not text; write {example}")
        return value

    def word(self, name: str, words: Sequence[str]) -> str:
        """One of a few words."""
        value = self.value(name, " or ".join(words))
        if value not in words:
            raise ConfigError(self.at(name), f"{shown(value)} is not allowed{suggestion(str(value), words, 'write')}")
        return str(value)

    def seconds(self, name: str, default: float) -> float:
        """A time of at least 0."""
        value = self._values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            raise ConfigError(self.at(name), f"{shown(value)} is no time; write seconds, at least 0, such as 1.5")
        return float(value)

    def count(self, name: str, *, least: int, most: int, default: int | None = None) -> int:
        """A whole number within bounds, both allowed. default: where the field may be missing."""
        if default is not None and not self.given(name):
            return default
        value = self.value(name, f"a whole number from {least} to {most}")
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(self.at(name), f"{shown(value)} is out of bounds; write {least} to {most}")
        return value

    def flag(self, name: str) -> bool:
        """False where it is not given. Raises ConfigError."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise ConfigError(self.at(name), f"{shown(value)} is not a switch; write true or false")
        return value

    def items(self, name: str) -> list[tuple[str, Any]]:
        """Path and value of each item of a list; none where the field is missing."""
        value = self._values.get(name, [])
        if not isinstance(value, list):
            raise ConfigError(self.at(name), f"{shown(value)} is not a list")
        return [(f"{self.at(name)}[{index}]", item) for index, item in enumerate(value)]

    def mapping(self, name: str) -> Fields:
        """Another mapping; an empty one where the field is missing."""
        return Fields(self._values.get(name, {}), self.at(name))

    def as_dict(self) -> dict[str, Any]:
        """All of it; the names are text."""
        for name in self._values:
            if not isinstance(name, str):
                raise ConfigError(self.path, f"the name {name!r} is not text; write it in quotes")
        return dict(self._values)


def shown(value: object) -> str:
    """A value in an error message."""
    return "nothing" if value is None else repr(value)
