"""What carries an activity out: a Python function, found and checked when the experiment is read."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from chaos.documents.fields import Fields, shown
from fleet.configuration.config_errors import suggestion
from shards.errors import ConfigError

TARGET = "target"
"""Name of the parameter through which a function gets the fleet that is experimented on."""


@dataclass(frozen=True, slots=True)
class Provider:
    """function: called with `arguments`, and with the target where it has a parameter of that name."""

    module: str
    func: str
    arguments: Mapping[str, Any]
    function: Callable[..., Any]
    takes_target: bool

    def call(self, target: object) -> Any:
        """Raises whatever the function raises."""
        extra = {TARGET: target} if self.takes_target else {}
        return self.function(**self.arguments, **extra)


def parse_provider(value: object, path: str) -> Provider:
    """From the file. Imports the module. Raises ConfigError."""
    fields = Fields(value, path)
    kind = fields.value("type", "python")
    if kind != "python":
        raise ConfigError(fields.at("type"), f"{shown(kind)} is not supported yet; write python")
    fields.known(
        ("type", "module", "func", "arguments"), unsupported={"secrets": "read what is secret inside the function"}
    )
    module, func = (
        fields.text("module", "a module such as chaos.actions.processes"),
        fields.text("func", "a function of it"),
    )
    arguments = fields.mapping("arguments").as_dict()
    function = _find(module, func, fields)
    parameters = _parameters(function, module, func, fields)
    takes_target = TARGET in parameters
    _check_arguments(arguments, parameters, fields)
    return Provider(module, func, arguments, function, takes_target)


def _find(module: str, func: str, fields: Fields) -> Callable[..., Any]:
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(fields.at("module"), f"there is no module {error.name}") from error
    except Exception as error:  # somebody else's module may raise anything while it is imported
        raise ConfigError(
            fields.at("module"), f"{module} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    here: dict[str, Callable[..., Any]] = {
        name: value
        for name, value in vars(loaded).items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", None) == module
    }
    found = here.get(func)
    if found is None:
        raise ConfigError(
            fields.at("func"), f"{module} has no function {func}{suggestion(func, sorted(here), 'it has')}"
        )
    return found


def _parameters(
    function: Callable[..., Any], module: str, func: str, fields: Fields
) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise ConfigError(fields.at("func"), f"{module}.{func} cannot be called with named arguments") from error


def _check_arguments(arguments: Collection[str], parameters: Mapping[str, inspect.Parameter], fields: Fields) -> None:
    path = fields.at("arguments")
    named = {
        name: parameter
        for name, parameter in parameters.items()
        if name != TARGET and parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    for name in arguments:
        if name == TARGET or (name not in named and not takes_any):
            hint = suggestion(name, list(named), "it takes") or "; it takes none"
            raise ConfigError(f"{path}.{name}", f"the function has no such argument{hint}")
    for name, parameter in named.items():
        if parameter.default is inspect.Parameter.empty and name not in arguments:
            raise ConfigError(f"{path}.{name}", "the function needs this argument")
