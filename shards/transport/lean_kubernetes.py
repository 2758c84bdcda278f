"""Of the kubernetes package only what reads configurations, until somebody asks for more.

Its packages import all that they have when they are imported themselves: two clients, an OAuth library, requests,
pydantic. To read a kubeconfig that is 0.1 s of CPU and 12 MiB in every process for nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from types import ModuleType
from typing import Any

_PACKAGES = ("kubernetes", "kubernetes.aio", "kubernetes.aio.client")
"""Each inside the one before."""

_importing = threading.Lock()
"""Configurations are read in threads. What is put in place for the import is there for one at a time."""


class Postponed(ModuleType):
    """A package that has not run yet: its modules can be imported, and it runs when a name of its own is asked for.

    So everybody else in this process finds the whole package, as ever.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import system asks of every module
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        importlib.reload(self)
        self.__class__ = ModuleType  # type: ignore[assignment]  # a plain module from here on
        return getattr(self, name)


def import_config() -> None:
    """Imports kubernetes.aio.config. Packages that were imported before stay as they are. From any thread."""
    with _importing:
        _import_once()


def _import_once() -> None:
    if "kubernetes.aio.config" in sys.modules:
        return
    for name in _PACKAGES:
        if name not in sys.modules:
            _postpone(name)
    client = sys.modules[_PACKAGES[-1]]
    if not isinstance(client, Postponed):
        importlib.import_module("kubernetes.aio.config")
        return
    # These two are all that it wants of the client, and it makes a client only when it is asked to.
    vars(client)["Configuration"] = importlib.import_module("kubernetes.aio.client.configuration").Configuration
    vars(client)["ApiClient"] = _api_client
    try:
        importlib.import_module("kubernetes.aio.config")
    finally:
        vars(client).pop("ApiClient")


def _postpone(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None, f"{name} is installed"
    package = importlib.util.module_from_spec(spec)
    package.__class__ = Postponed
    sys.modules[name] = package
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, package)


def _api_client(*args: Any, **kwargs: Any) -> Any:
    return sys.modules["kubernetes.aio.client"].ApiClient(*args, **kwargs)
