"""Resharding from outside: what is asked for, what that would change, and how far it has come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fleet.backends.document_change import change_document
from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.configuration.config_file import parse_config
from fleet.configuration.config_text import edited
from fleet.orders import change_controls, order, read_controls
from fleet.records.controls import Controls
from fleet.records.coordination import CasConflict
from fleet.records.cut_request import CutRequest
from fleet.records.object_names import Kind
from fleet.records.record import Document, DocumentName, ShardMap, ShardRecord, StoredMap
from fleet.rules.cuts import cut_boundaries, cut_of, refusal
from fleet.rules.layout import Wanted, base_count, namespace_points, next_layout, relaid, told
from fleet.status.reshard_progress import Goal, ReshardPhase, ReshardProgress, reshard_progress
from shards.errors import ConfigError, ShardError
from shards.keyrange import SPACE, KeyRange, PartitionKey

_TRIES = 5
PATIENCE_SECONDS = 10.0
"""After so long without a coordinator that follows, it is said that there may be none."""


class ReshardFailed(ShardError):
    """The reshard that was asked for does not come. The message says why."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """count, key: of the config; None where they stay. splits: a range and a hash each, as people write them: None for
    the middle. merges: two ranges each."""

    count: int | None = None
    key: PartitionKey | None = None
    splits: tuple[tuple[str, str | None], ...] = ()
    merges: tuple[tuple[str, str], ...] = ()

    @property
    def of_config(self) -> dict[str, int | str]:
        """By the field of the section `shards`."""
        fields = {"count": self.count, "partitionBy": None if self.key is None else str(self.key)}
        return {name: value for name, value in fields.items() if value is not None}


class Resharder:
    """Asks one fleet for a reshard, and follows it. Every method raises CoordinationUnavailable."""

    def __init__(self, coordination: KubernetesCoordination) -> None:
        self._coordination = coordination

    async def dry_run(self, wishes: Wishes) -> list[str]:
        """What would change, in one sentence per range. Raises ConfigError."""
        shown, shards = (await self._map()).map, await self._shards()
        frozen = (await read_controls(self._coordination)).frozen
        if wishes.of_config:
            text = self._edited(await self._config(), wishes)
            config = parse_config(text).shards
            points = namespace_points(await self._coordination.list_members())
            settled = replace(shown, retiring=frozenset(), config_version="")
            active = {each: record for each, record in shards.items() if each in set(shown.ranges)}
            after = next_layout(settled, Wanted(config.count, config.partition_by, "1"), active, points)
        else:
            boundaries = shown.boundaries
            for request in self._requests(wishes, shown, Controls()):
                boundaries = cut_boundaries(boundaries, [cut_of(request)], shown.partition_key)
            after = relaid(shown, boundaries, shown.partition_key, shards)
        if after is None or after.ranges == shown.ranges:
            lines = ["nothing would change: the layout is that already, or a reshard is under way"]
        else:
            lines = told(shown, after, shards)
        return (
            lines if frozen is None else [*lines, f"the fleet is frozen ({frozen}): it would wait for fleet unfreeze"]
        )

    async def ask(self, wishes: Wishes) -> tuple[Goal, str]:
        """Writes down what is wanted. Returns what to follow, and a sentence. Raises ConfigError."""
        shown = (await self._map()).map
        goal = Goal(frozenset(shown.ranges))
        if wishes.of_config:
            version = await self._write_config(wishes)
            what = ", ".join(f"shards.{name}: {value}" for name, value in wishes.of_config.items())
            goal, sentence = replace(goal, config_version=version), f"{self._name(DocumentName.CONFIG)} says {what}"
            sentence += _stays(wishes, shown)
        else:
            number = await self._write_requests(wishes, shown)
            goal, sentence = replace(goal, request=number), f"{self._name(DocumentName.CONTROLS)} asks for it"
        frozen = (await read_controls(self._coordination)).frozen
        return (
            goal,
            sentence if frozen is None else f"{sentence}; the fleet is frozen ({frozen}) and waits for unfreeze",
        )

    async def follow(
        self,
        goal: Goal,
        tell: Callable[[ReshardProgress], None],
        impatient: Callable[[], None],
        *,
        timeout_seconds: float | None = None,
    ) -> None:
        """Until it is done. tell: hears of every change. impatient: nobody has followed for long. timeout_seconds: None
        waits for ever.

        Raises ReshardFailed.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._follow(goal, tell, impatient)
        except TimeoutError as error:
            late = f"it is not done after {timeout_seconds:g} s, and goes on without this command"
            raise ReshardFailed(f"{late}; fleet status shows how far it is") from error

    async def _follow(self, goal: Goal, tell: Callable[[ReshardProgress], None], impatient: Callable[[], None]) -> None:
        view = self._coordination.watch(members=False)
        last: ReshardProgress | None = None
        clock = asyncio.get_running_loop().time
        began, asked = clock(), False
        try:
            while last is None or last.phase is not ReshardPhase.DONE:
                if view.synced and view.map is not None:
                    found = reshard_progress(goal, view.map.map, view.shards)
                    if found != last:
                        tell(found)
                    if found.phase is ReshardPhase.REFUSED:
                        raise ReshardFailed(f"the coordinator does not follow it: {found.why}")
                    last = found
                waiting = last is None or last.phase is ReshardPhase.WAITING
                if waiting and not asked and clock() - began > PATIENCE_SECONDS:
                    asked = True
                    impatient()
                await asyncio.sleep(0.1)
        finally:
            await view.close()

    # -- what is written ----------------------------------------------------------------------------------------------

    async def _write_config(self, wishes: Wishes) -> str:
        def edit(found: Document | None) -> str | None:
            there = self._there(found)
            text = self._edited(there, wishes)
            return None if text == there.text else text

        try:
            changed = await change_document(self._coordination, DocumentName.CONFIG, edit, attempts=_TRIES)
        except CasConflict as conflict:
            why = f"{self._name(DocumentName.CONFIG)} changes all the time; nothing was changed"
            raise ReshardFailed(why) from conflict
        return self._there(changed).version

    def _edited(self, found: Document, wishes: Wishes) -> str:
        """The text of the config with what is wished for. Raises ConfigError, which names the ConfigMap."""
        try:
            return edited(found.text, "shards", wishes.of_config)
        except ConfigError as error:
            why = f"{self._name(DocumentName.CONFIG)} cannot be changed: {error}"
            if not found.text:
                why = f"{self._name(DocumentName.CONFIG)} has no text under the key fleet.yaml, which holds the config"
            raise ConfigError("", why) from error

    async def _write_requests(self, wishes: Wishes, shown: ShardMap) -> int:
        made: list[CutRequest] = []

        def add(controls: Controls) -> Controls:
            made[:] = self._requests(wishes, shown, controls)
            waiting = [each for each in controls.requests if each.number > shown.requests_done]
            return replace(controls, requests=(*waiting, *made))

        await change_controls(self._coordination, add)
        return made[-1].number

    def _requests(self, wishes: Wishes, shown: ShardMap, controls: Controls) -> list[CutRequest]:
        """Raises ConfigError for what cannot be done to the layout as it is now."""
        number = max([shown.requests_done, *(each.number for each in controls.requests)])
        given, boundaries, made = order(""), shown.boundaries, []
        wanted: list[tuple[str, tuple[str, ...], str | None]] = [
            *(("--split", (each,), at) for each, at in wishes.splits),
            *(("--merge", pair, None) for pair in wishes.merges),
        ]
        for option, texts, at in wanted:
            layout = replace(shown, boundaries=boundaries, targets=("",) * len(boundaries)).ranges
            ranges = tuple(sorted(range_named(option, text, layout) for text in texts))
            number += 1
            cut_at = hash_in(option, at, ranges[0]) if option == "--split" else None
            request = CutRequest(number, ranges, cut_at, given.by, given.since)
            why = refusal(request, boundaries, shown.partition_key)
            if why:
                raise ConfigError(option, why)
            boundaries = cut_boundaries(boundaries, [cut_of(request)], shown.partition_key)
            made.append(request)
        return made

    # -- what is read -------------------------------------------------------------------------------------------------

    async def _map(self) -> StoredMap:
        found = await self._coordination.read_map()
        if found is None:
            raise ReshardFailed("the fleet has no map yet: nothing to reshard; has it been started?")
        return found

    async def _shards(self) -> dict[KeyRange, ShardRecord]:
        return {record.range: record for record in await self._coordination.list_shards()}

    async def _config(self) -> Document:
        return self._there(await self._coordination.read_document(DocumentName.CONFIG))

    def _there(self, found: Document | None) -> Document:
        """Raises ConfigError, with what would be right, where there is none."""
        if found is not None:
            return found
        names = self._coordination.names
        name, labels = names.document(DocumentName.CONFIG), names.labels(Kind.DOCUMENT)
        wanted = " ".join(f"{label}={value}" for label, value in labels.items())
        raise ConfigError(
            "",
            f"there is no ConfigMap {name} in namespace {names.namespace}, which a fleet's layout follows; create it"
            f" from the fleet's config: kubectl -n {names.namespace} create configmap {name} --from-file=fleet.yaml &&"
            f" kubectl -n {names.namespace} label configmap {name} {wanted}",
        )

    def _name(self, document: DocumentName) -> str:
        return f"ConfigMap {self._coordination.names.document(document)}"


def _stays(wishes: Wishes, shown: ShardMap) -> str:
    """Why a layout with another number of shards does not change; "" where it may."""
    have, key = len(shown.boundaries), wishes.key or shown.partition_key
    if wishes.count in (None, have) or (wishes.count, key) != (base_count(shown), shown.partition_key):
        return ""
    return (
        f"; the layout was made for that, and stays as it is: {have} shards, since single ones were split or merged"
        " (--split and --merge change them back)"
    )


def range_named(option: str, text: str, layout: Sequence[KeyRange]) -> KeyRange:
    """The range that somebody means: as `fleet status` shows it, or whole. Raises ConfigError."""
    found = [each for each in layout if text in (each.short, each.hashes, str(each))]
    if len(found) == 1:
        return found[0]
    if not found:
        example = layout[0].short
        raise ConfigError(option, f"the layout has no range {text!r}; write one of fleet status, such as {example}")
    raise ConfigError(option, f"{text!r} may be any of {len(found)} ranges; write it whole, such as {found[0]}")


def hash_in(option: str, text: str | None, covered: KeyRange) -> int:
    """Where to split: the middle, or the first hex digits of a hash. Raises ConfigError."""
    if text is None:
        middle = covered.first + (covered.last - covered.first + 1) // 2
        if middle == covered.first:
            raise ConfigError(option, f"{covered} has one hash only and cannot be split")
        return middle
    digits = text.lower().removeprefix("0x")
    if not digits or len(digits) > 16 or digits.strip("0123456789abcdef"):
        raise ConfigError(option, f"{text!r} is no hash; write up to 16 hex digits, such as {covered.first >> 48:04x}")
    value = int(digits.ljust(16, "0"), 16)
    assert value < SPACE
    return value
