"""What a generated history knows while it runs on one server: versions it has seen, names it was given."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import Any

from tests.contract.transcripts import POLL_SECONDS, WAIT_SECONDS, Document, Stage

GARBAGE_FINALIZERS = frozenset({"foregroundDeletion", "orphan"})


@dataclass(frozen=True, slots=True, repr=False)
class Subject:
    """A resource that operations are about. resource: as in Stage.path. status: whether it has that subresource."""

    resource: str
    kind: str
    status: bool = False

    def __repr__(self) -> str:
        return re.sub(r"(?<!^)(?=[A-Z])", "_", self.kind).upper()

    @property
    def api_version(self) -> str:
        return self.resource.rpartition("/")[0]

    @property
    def plural(self) -> str:
        return self.resource.rpartition("/")[2]


@dataclass(slots=True)
class Scene:
    """Operations name versions of the past by a number, so that any part of a history is a history."""

    stage: Stage
    versions: dict[str, list[str]] = field(default_factory=dict)
    """By plural: versions of objects in the order in which answers showed them."""
    identities: dict[tuple[str, str], str] = field(default_factory=dict)
    """By plural and name: the UID that was seen last."""
    generated: list[str] = field(default_factory=list)
    first_version: str = ""
    collected: bool = False
    """Whether anything gives work to a garbage collector so far."""

    async def begin(self) -> None:
        """Remembers the version from which on the history happens."""
        found = await self.stage.ask("GET", self.path(Subject("v1/configmaps", "ConfigMap")), quiet=True)
        self.first_version = found["metadata"]["resourceVersion"]
        self.stage.normalise.versions[self.first_version] = "<first version>"

    def path(self, subject: Subject, name: str = "", subresource: str = "") -> str:
        return self.stage.path(subject.resource, name, subresource)

    def learn(self, subject: Subject, answer: Document) -> None:
        """Remembers the version and identity in an answer that is an object of the subject."""
        metadata = answer.get("metadata") or {}
        if answer.get("kind") != subject.kind or "resourceVersion" not in metadata:
            return
        seen = self.versions.setdefault(subject.plural, [])
        if metadata["resourceVersion"] not in seen:
            seen.append(metadata["resourceVersion"])
        self.identities[subject.plural, metadata["name"]] = metadata["uid"]

    def learn_generated_name(self, answer: Document) -> None:
        """Random letters become a number in the transcript."""
        name = answer["metadata"].get("name") or answer.get("details", {}).get("name")
        if name:
            self.generated.append(name)
            self.stage.normalise.words[name] = f"<generated {len(self.generated)}>"

    def past(self, subject: Subject, back: int) -> str:
        """A version seen before: 0 is the newest; that of the beginning where nothing was seen."""
        seen = self.versions.get(subject.plural, [])
        return seen[-1 - back % len(seen)] if seen else self.first_version

    def uid(self, subject: Subject, name: str) -> str:
        return self.identities.get((subject.plural, name), "11111111-2222-4333-8444-555555555555")

    async def owner(self, subject: Subject, name: str) -> Document | None:
        """A reference to that object, None where it is not there or ends: a collector would come at any moment."""
        found = await self.stage.ask("GET", self.path(subject, name), quiet=True)
        metadata = found["metadata"]
        if found["kind"] != subject.kind or "deletionTimestamp" in metadata:
            return None
        self.collected = True
        reference = {"apiVersion": subject.api_version, "kind": subject.kind, "name": name, "uid": metadata["uid"]}
        return {**reference, "blockOwnerDeletion": True}

    async def catch_up(self, subject: Subject) -> None:
        """A list from memory may be older than the last write; a list of the newest state brings the memory up."""
        await self.stage.ask("GET", self.path(subject), quiet=True)

    async def rest(self, subjects: tuple[Subject, ...]) -> None:
        """Waits until a garbage collector has nothing left to do among the objects. Raises TimeoutError."""
        if not self.collected:
            return
        async with asyncio.timeout(WAIT_SECONDS):
            while not at_rest([each for subject in subjects for each in await self._objects(subject)]):
                await asyncio.sleep(POLL_SECONDS)

    async def _objects(self, subject: Subject) -> list[Document]:
        found: list[Document] = (await self.stage.ask("GET", self.path(subject), quiet=True))["items"]
        return found


def at_rest(objects: list[Document]) -> bool:
    """Whether no object waits for a garbage collector: to lose its owner, to go with it, or to end its own deletion."""
    living = {each["metadata"]["uid"] for each in objects}
    return not any(_awaits_collection(each["metadata"], objects, living) for each in objects)


def _awaits_collection(metadata: dict[str, Any], objects: list[Document], living: set[str]) -> bool:
    finalizers = set(metadata.get("finalizers") or ())
    dying = "deletionTimestamp" in metadata
    owners = {reference["uid"] for reference in metadata.get("ownerReferences") or ()}
    if owners and not owners & living and not dying:
        return True
    if not dying or not finalizers & GARBAGE_FINALIZERS:
        return False
    if "orphan" in finalizers:
        return True
    return not _blocked(metadata["uid"], objects)


def _blocked(uid: str, objects: list[Document]) -> bool:
    """Whether a dependent that waits for a finalizer of somebody else holds up the deletion of its owner."""
    return any(
        reference["uid"] == uid and reference.get("blockOwnerDeletion") and each["metadata"].get("finalizers")
        for each in objects
        for reference in each["metadata"].get("ownerReferences") or ()
    )
