from __future__ import annotations

import random

import pytest

from fleet.devcluster.kinds.resources import BUILT_IN
from fleet.devcluster.storage.storage import HistoryGone, Storage, Table
from shards.objects import Object

CONFIG_MAPS = next(kind for kind in BUILT_IN if kind.resource.plural == "configmaps")


def body(name: str, value: str = "1", namespace: str = "default") -> Object:
    return {"metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"}, "data": {"a": value}}


def content(table: Table) -> list[tuple[str, int]]:
    return [(each.key, each.version) for each in table.scan()]


def test_every_earlier_version_can_be_seen_page_by_page_after_any_writes() -> None:
    storage, rng = Storage(), random.Random(7)
    table = storage.table(CONFIG_MAPS)
    seen: dict[int, list[tuple[str, int]]] = {}
    for step in range(300):
        name, namespace = f"n{rng.randrange(12)}", rng.choice(("a", "a-b", "b"))
        if f"{namespace}/{name}" in table.objects and rng.random() < 0.5:
            storage.delete(table, f"{namespace}/{name}")
        else:
            storage.put(table, body(name, str(step), namespace))
        seen[storage.version] = content(table)
    for version, expected in seen.items():
        past = table.at(version)
        assert [(each.key, each.version) for each in past.scan()] == expected
        for prefix in ("", "a/", "a-b/", "b/", "none/"):
            within = [each for each in expected if each[0].startswith(prefix)]
            found, begin = [], ""
            while True:
                page = past.page(prefix, begin, None, 5)
                found += [(each.key, each.version) for each in page.items]
                assert page.left == len(within) - len(found)
                if not page.left:
                    break
                begin = page.items[-1].key + "\0"
            assert found == within


def test_a_page_looks_no_further_than_its_last_item() -> None:
    storage = Storage()
    table = storage.table(CONFIG_MAPS)
    for name in "abcd":
        storage.put(table, body(name))
    page = table.page("default/", "", lambda each: each.meta.name in "bc", 1)
    assert ([each.meta.name for each in page.items], page.left) == (["b"], 2)


def test_a_copy_follows_its_own_commits_only() -> None:
    storage = Storage()
    table = storage.table(CONFIG_MAPS)
    storage.put(table, body("a"))
    copy = table.copy()
    storage.put(table, body("b"))
    assert [key for key, _ in content(copy)] == ["default/a"]
    assert [commit.version for commit in copy.after(1)] == [2]


def test_watches_may_reach_further_back_than_lists() -> None:
    storage = Storage()
    table = storage.table(CONFIG_MAPS)
    storage.put(table, body("a"))
    storage.compact(watches=False)
    assert len(table.after(1)) == 1
    with pytest.raises(HistoryGone):
        table.at(1)
