from __future__ import annotations

import random

from shards.filtering.ladder import FilterLadder, Verdict
from shards.filtering.witness import LadderWitness
from shards.keyrange import SPACE, KeyRange, PartitionKey, fnv1a64
from shards.objects import Meta, OwnerReference, Resource
from shards.settings import ScopeSettings
from shards.watching.source import FilterMode, Role, Source

SITES = Resource("demo.shardfleet.dev", "v1", "websites")
PAGES = Resource("", "v1", "configmaps")


class Rig:
    def __init__(
        self,
        mode: FilterMode,
        *,
        role: Role = "primary",
        key: PartitionKey = PartitionKey.UID,
        best: FilterMode = FilterMode.SHARD_SELECTOR,
        namespaces: tuple[str, ...] = (),
    ) -> None:
        self.now = 1000.0
        self.ladder = FilterLadder(lambda: self.now, random.Random(1))
        self.low = KeyRange(0, SPACE // 2 - 1, key)
        resource = SITES if role == "primary" else PAGES
        source = Source(resource, self.low, key, ScopeSettings(namespaces), mode, role)
        self.witness = LadderWitness(self.ladder, source, best)
        self.rung = self.ladder.rung(resource, best)
        self.ladder.answered(self.rung, True, "because")

    def uid(self, *, inside: bool) -> str:
        return next(uid for number in range(1000) if (fnv1a64(uid := f"uid-{number}-of-many") in self.low) == inside)


def test_an_object_of_another_range_ends_the_filter() -> None:
    rig = Rig(FilterMode.SHARD_SELECTOR)
    rig.witness.foreign(Meta(name="a", namespace="x", uid=rig.uid(inside=False)))
    assert (rig.rung.verdict, rig.rung.foreign) == (Verdict.REFUTED, 1)


def test_one_that_only_the_scope_leaves_out_says_nothing_of_the_server() -> None:
    rig = Rig(FilterMode.SHARD_SELECTOR, namespaces=("x", "y"))
    rig.witness.foreign(Meta(name="a", namespace="z", uid=rig.uid(inside=True)))
    assert (rig.rung.verdict, rig.rung.foreign) == (Verdict.PROVEN, 0)


def test_with_the_key_namespace_a_child_is_judged_by_its_own_namespace_and_not_by_its_owner() -> None:
    rig = Rig(FilterMode.SHARD_SELECTOR, role="owned", key=PartitionKey.NAMESPACE)
    inside = next(name for number in range(1000) if fnv1a64(name := f"{number}-team") in rig.low)
    outside = next(name for number in range(1000) if fnv1a64(name := f"{number}-team") not in rig.low)
    rig.witness.foreign(Meta(name="orphan", namespace=inside, uid=rig.uid(inside=False)))
    assert rig.rung.foreign == 0
    owner = OwnerReference("Website", "a", "uid", "demo.shardfleet.dev/v1", controller=True)
    rig.witness.foreign(Meta(name="child", namespace=outside, uid="u", owner_references=(owner,)))
    assert rig.rung.verdict is Verdict.REFUTED


def test_what_a_view_drops_on_another_rung_is_as_it_should_be() -> None:
    local = Rig(FilterMode.LOCAL)
    local.witness.foreign(Meta(name="a", uid=local.uid(inside=False)))
    labels = Rig(FilterMode.SLOT_LABELS, role="owned", best=FilterMode.SLOT_LABELS)
    labels.witness.foreign(Meta(name="a", uid="u"))
    assert local.rung.foreign == labels.rung.foreign == 0


def test_a_reconnect_asks_about_the_best_filter_whatever_the_view_stands_on() -> None:
    rig = Rig(FilterMode.LOCAL)
    rig.now += 60.0
    assert rig.ladder.due() == []
    rig.witness.reconnected()
    assert rig.ladder.due() == [rig.rung]
