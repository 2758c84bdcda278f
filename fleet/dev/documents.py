"""Objects in YAML files that are named on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from shards.errors import ConfigError
from shards.objects import Object

_DEFINITION = "CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class Document:
    """One object. place: its document, and the item where that is a List, such as `document 2 of site.yaml`."""

    place: str
    body: Object

    @property
    def type(self) -> tuple[str, str]:
        """apiVersion and kind."""
        return self.body["apiVersion"], self.body["kind"]


def read_documents(option: str, file: Path) -> list[Any]:
    """The documents of a file in order, without those that are null. option: what is to blame. Raises ConfigError."""
    return [document for _, document in _numbered(option, file)]


def read_objects(option: str, file: Path) -> list[Document]:
    """The objects of a file in order; a List is its items. Raises ConfigError: it names the document and the field."""
    return [
        each
        for number, document in _numbered(option, file)
        for each in _objects(option, f"document {number} of {file}", document)
    ]


def check_kinds(option: str, documents: Sequence[Document], served: Callable[[str, str], bool]) -> None:
    """Raises ConfigError for the first object whose kind is neither served nor defined before it.

    served: whether a server has that kind already, by apiVersion and kind.
    """
    defined: dict[tuple[str, str], str] = {}
    later = {kind: each.place for each in documents for kind in _defines(each.body)}
    for each in documents:
        version, kind = each.type
        if not served(version, kind) and each.type not in defined:
            what = f"{each.place}: kind: nothing serves {kind!r} of {version!r}"
            if each.type in later:
                raise ConfigError(
                    option, f"{what} yet; its {_DEFINITION} must come before it, not in {later[each.type]}"
                )
            raise ConfigError(option, f"{what}; load its {_DEFINITION} before it")
        defined.update(dict.fromkeys(_defines(each.body), each.place))


def _numbered(option: str, file: Path) -> Iterator[tuple[int, Any]]:
    """Documents that are not null, with their place from 1. Nothing is yielded unless the whole file can be read."""
    found: list[tuple[int, Any]] = []
    number = 1
    try:
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            if document is not None:
                found.append((number, document))
            number += 1
    except OSError as error:
        raise ConfigError(option, f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(option, f"{file} is not valid YAML: {error}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(option, f"document {number} of {file} is not valid YAML: {error}") from error
    yield from found


def _objects(option: str, place: str, body: Any) -> Iterator[Document]:
    if not isinstance(body, dict):
        raise ConfigError(option, f"{place} is no object with apiVersion and kind, but {_called(body)}")
    for name in ("apiVersion", "kind"):
        _check_text(option, f"{place}: {name}", body.get(name))
    if body["kind"] == "List" and body["apiVersion"] == "v1":
        items = body.get("items")
        if not isinstance(items, list):
            raise ConfigError(option, f"{place}: items: must be a list, not {_called(items)}")
        for number, item in enumerate(items, start=1):
            yield from _objects(option, f"item {number} of {place}", item)
        return
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        raise ConfigError(option, f"{place}: metadata: must be an object, not {_called(metadata)}")
    if metadata.get("generateName") is None:
        _check_text(option, f"{place}: metadata.name", metadata.get("name"))
    if metadata.get("namespace") is not None:
        _check_text(option, f"{place}: metadata.namespace", metadata["namespace"])
    yield Document(place, body)


def _check_text(option: str, what: str, value: Any) -> None:
    if value is None or value == "":
        raise ConfigError(option, f"{what} is missing")
    if not isinstance(value, str):
        raise ConfigError(option, f"{what}: must be a text, not {value!r}; put it in quotes")


def _called(value: Any) -> str:
    return (
        "nothing" if value is None else {"list": "a list", "dict": "an object"}.get(type(value).__name__, repr(value))
    )


def _defines(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """apiVersion and kind of what a definition defines; what is wrong with it the server will say."""
    spec = body.get("spec") if body.get("kind") == _DEFINITION else None
    if not isinstance(spec, dict):
        return []
    names, versions = spec.get("names"), spec.get("versions")
    kind = names.get("kind") if isinstance(names, dict) else None
    numbers = [each.get("name") for each in versions if isinstance(each, dict)] if isinstance(versions, list) else []
    return [(f"{spec.get('group')}/{each}", kind) for each in numbers if isinstance(kind, str)]
