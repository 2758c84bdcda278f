"""What `fleet dev` needs to know about somebody's controller besides its code: its CRD, and objects to try it on.

Found by convention, next to the author's file `websites.py`:

    websites-crd.yaml     one or several CustomResourceDefinitions; or the files given with --crd
    websites_demo.py      the two hooks below; without that file they are looked for in websites.py itself

    def demo_object(i: int) -> dict        the i-th demo object, from 0; metadata.namespace decides where it goes
    def settled(obj: dict) -> bool         whether the controller has nothing more to do for that object
    def change(obj: dict, n: int) -> dict  a merge patch that makes the n-th change of an object, for experiments

Without `settled`, an object counts once its status is there and, where it has one, status.observedGeneration has
reached metadata.generation. Without `change`, an annotation is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from fleet.configuration.controllers import import_file
from fleet.dev.documents import read_documents
from shards.errors import ConfigError
from shards.objects import Object, Resource

DEFAULT_OBJECTS = 20
TOUCHED = "shardfleet.dev/touched"


@dataclass(frozen=True, slots=True)
class Demo:
    """crds: definitions to install. make: None where the author gave no hook. change: see above."""

    crds: tuple[Object, ...]
    make: Callable[[int], Object] | None
    settled: Callable[[Object], bool]
    change: Callable[[Object, int], Object]

    def objects(self, count: int | None) -> list[Object]:
        """The first `count` demo objects; None: a few where there is a hook, else none. Raises ConfigError."""
        if self.make is None:
            if count:
                raise ConfigError("--objects", "the controller's module has no demo_object(i) that makes them")
            return []
        return [_made(self.make, i) for i in range(DEFAULT_OBJECTS if count is None else count)]


def find_demo(module: ModuleType, primary: Resource, crd_files: Sequence[Path] = ()) -> Demo:
    """The demo of an author's module. Raises ConfigError."""
    source = Path(module.__file__ or f"{module.__name__}.py")
    beside = source.with_name(f"{source.stem}-crd.yaml")
    files = list(crd_files) or ([beside] if beside.is_file() else [])
    if not files and "." in primary.group and not primary.group.endswith(".k8s.io"):
        raise ConfigError(
            "--crd", f"{primary} needs a CustomResourceDefinition; put it into {beside}, or name its file"
        )
    hooks_file = source.with_name(f"{source.stem}_demo.py")
    hooks = import_file(hooks_file) if hooks_file.is_file() else module
    return Demo(
        crds=tuple(crd for file in files for crd in read_crds(file)),
        make=getattr(hooks, "demo_object", None),
        settled=getattr(hooks, "settled", observed),
        change=getattr(hooks, "change", touched),
    )


def _made(make: Callable[[int], Object], i: int) -> Object:
    try:
        obj: Any = make(i)  # whatever it says it returns
    except Exception as error:  # the author's function may raise anything
        raise ConfigError("", f"demo_object({i}) raised {type(error).__name__}: {error}") from error
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        raise ConfigError("", f"demo_object({i}) must return an object, a dict with metadata.name; it returned {obj!r}")
    return dict(obj)


def read_crds(file: Path) -> list[Object]:
    """All definitions in a YAML file. Raises ConfigError."""
    documents = [document for document in read_documents("--crd", file) if document]
    for document in documents:
        if not isinstance(document, dict) or document.get("kind") != "CustomResourceDefinition":
            raise ConfigError("--crd", f"{file} holds something that is no CustomResourceDefinition")
    if not documents:
        raise ConfigError("--crd", f"{file} is empty; it must hold a CustomResourceDefinition")
    return documents


def observed(obj: Object) -> bool:
    """The default of `settled`: there is a status, and it is not of an older generation."""
    status = obj.get("status")
    if not status:
        return False
    generation = status.get("observedGeneration")
    return generation is None or bool(generation >= obj["metadata"].get("generation", 0))


def touched(obj: Object, number: int) -> Object:
    """The default of `change`."""
    return {"metadata": {"annotations": {TOUCHED: str(number)}}}
