"""Finding the author's controller: "module:object" or "path/file.py:object".

Whatever can go wrong with somebody else's module becomes one ConfigError that says where to look.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from fleet.configuration.config_errors import suggestion
from shards.authoring.controller import Controller
from shards.errors import ConfigError


class LoadedController(NamedTuple):
    """A controller and the module that it came from."""

    reference: str
    module: ModuleType
    controller: Controller


def load_controllers(references: Iterable[str], *, base: Path, path: str = "") -> tuple[LoadedController, ...]:
    """Import every reference.

    base: directory that file paths are relative to, and where modules are found besides the installed ones.
    path: where the references were written, for errors ("controllers" gives controllers[0], controllers[1] ...).
    Raises ConfigError.
    """
    references = tuple(references)
    loaded: list[LoadedController] = []
    for index, reference in enumerate(references):
        where = f"{path}[{index}]" if path and len(references) > 1 else path
        one = load_controller(reference, base=base, path=where)
        if any(one.controller.name == other.controller.name for other in loaded):
            raise ConfigError(where, f"another controller is called {one.controller.name!r} too; rename one of them")
        loaded.append(one)
    return tuple(loaded)


def load_controller(reference: str, *, base: Path, path: str = "") -> LoadedController:
    """Import one reference. Raises ConfigError; its cause is the exception that the author's module raised, if any."""
    source, colon, name = reference.rpartition(":")
    if not colon or not source or not name.isidentifier():
        raise ConfigError(path, f"{reference!r} names no controller; write module:object or path/file.py:object")
    module = import_file(base / source, path) if source.endswith(".py") else _import_module(source, base, path)
    known = [key for key, value in vars(module).items() if isinstance(value, Controller)]
    try:
        found = getattr(module, name)
    except AttributeError as error:
        raise ConfigError(path, f"{source} has no {name!r}{_hint(name, known)}") from error
    if not isinstance(found, Controller):
        raise ConfigError(
            path, f"{name!r} in {source} is of type {type(found).__name__}, not Controller{_hint(name, known)}"
        )
    found.check()
    return LoadedController(reference, module, found)


def import_file(file: Path, path: str = "") -> ModuleType:
    """The module in the file, under the file's own name; its directory can be imported from. Raises ConfigError."""
    if not file.is_file():
        near = suggestion(file.name, sorted(other.name for other in file.parent.glob("*.py")), "files there are")
        raise ConfigError(path, f"there is no file {file}{near}")
    if not file.stem.isidentifier():
        raise ConfigError(path, f"{file.name} cannot be imported under that name; use letters, digits and underscores")
    loaded = sys.modules.get(file.stem)
    if loaded is not None and Path(loaded.__file__ or "").resolve() == file.resolve():
        return loaded
    if loaded is not None or file.stem in sys.stdlib_module_names:
        raise ConfigError(path, f"a module called {file.stem!r} exists already; give {file} another name")
    _search_in(file.parent)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ConfigError(path, f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Known under its name before it runs, as for any import: dataclasses and pickles look it up there.
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # an author's module may raise anything
        del sys.modules[file.stem]
        raise _import_failed(str(file), error, path) from error
    return module


def _import_module(name: str, base: Path, path: str) -> ModuleType:
    _search_in(base)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            file = base / f"{name.replace('.', '/')}.py"
            raise ConfigError(
                path,
                f"there is no module {name!r}: neither installed nor at {file}; or name a file: path/file.py:object",
            ) from error
        raise _import_failed(name, error, path) from error
    except (Exception, SystemExit) as error:  # an author's module may raise anything
        raise _import_failed(name, error, path) from error


def _search_in(directory: Path) -> None:
    """Console scripts do not search the working directory as `python -m` does."""
    text = str(directory.resolve())
    if text not in sys.path:
        sys.path.insert(0, text)


def _import_failed(source: str, error: BaseException, path: str) -> ConfigError:
    """One sentence with the author's own line: the innermost frame that is neither this file nor the import system."""
    if isinstance(error, SyntaxError):
        return ConfigError(path, f"{error.filename}, line {error.lineno}: {error.msg}")
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != __file__
        and not frame.filename.startswith("<frozen ")
        and "importlib" not in frame.filename
    ]
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return ConfigError(path, f"importing {source} failed: {type(error).__name__}: {error}{where}")


def _hint(name: str, known: list[str]) -> str:
    if not known:
        return "; it defines no Controller"
    return suggestion(name, known, "its controllers are")
