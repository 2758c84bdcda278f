from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from chaos.actions.objects import recreate_objects, write_against
from chaos.actions.trouble import (
    add_large_objects,
    heat_key,
    make_trouble,
    mend_trouble,
    remove_trouble,
    wait_for_quarantine,
)
from chaos.targets.target import Target, TargetFailed
from fleet.records.object_names import CONFIG_MAPS
from tests.unit.chaos.targets.own_paper import OwnTarget


def test_objects_that_are_trouble_are_made_mended_and_removed() -> None:
    target = OwnTarget()
    resource = target.people.resource
    make_trouble("slow", 2, 4.0, target)
    assert target.api.get(resource, "", "trouble-slow-1")["spec"] == {
        "pages": 1, "text": "slow", "trouble": "slow", "seconds": 4.0,
    }  # fmt: skip
    assert mend_trouble(target) == {"mended": 2}
    assert "trouble" not in target.api.get(resource, "", "trouble-slow-0")["spec"]
    assert remove_trouble(target) == {"removed": 2}
    assert remove_trouble(target) == {"removed": 0}


def test_large_objects_are_as_large_as_they_are_said_to_be() -> None:
    target = OwnTarget()
    assert add_large_objects(2, 512, target) == {"added": 2, "mib": 1}
    assert len(target.api.get(target.people.resource, "", "trouble-large-0")["spec"]["text"]) == 512 * 1024


def test_one_object_is_changed_as_often_as_is_wanted() -> None:
    target = OwnTarget()
    target.api.put(target.people.resource, "a-site", {"spec": {}})
    found = heat_key(10.0, 3.0, target)
    assert (found["changes"], found["seconds"]) == (30, pytest.approx(2.9))
    assert target.api.get(target.people.resource, "", "a-site")["spec"]["text"] == "hot 29"


def test_a_key_is_waited_for_until_it_is_set_aside() -> None:
    target = OwnTarget()
    with pytest.raises(TargetFailed, match="fewer than 1 keys are in quarantine after 3 s"):
        wait_for_quarantine(3.0, target=target)
    text = json.dumps({"keys": [{"name": "a", "deaths": 2}, {"name": "b", "deaths": 3}]})
    target.api.put(CONFIG_MAPS, "chaos-quarantine", {"data": {"quarantine.json": text}})
    assert wait_for_quarantine(3.0, target=target)["quarantined"] == 1


@pytest.mark.parametrize(
    "harm",
    [
        lambda target: recreate_objects(1, target),
        lambda target: write_against(1.0, 1.0, target=target),
        lambda target: heat_key(1.0, 1.0, target),
        lambda target: make_trouble("slow", target=target),
        lambda target: add_large_objects(1, 1, target),
        mend_trouble,
        remove_trouble,
    ],
)
def test_what_somebody_looks_after_in_a_cluster_is_not_deleted_or_rewritten(
    harm: Callable[[Target], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody could put it back; an object of theirs may be called trouble-tickets."""
    target = OwnTarget()
    monkeypatch.setattr(target, "name", "kube")
    target.api.put(
        target.people.resource, "trouble-tickets", {"apiVersion": "x/v1", "kind": "Site", "spec": {"text": "mine"}}
    )
    with pytest.raises(TargetFailed, match="are somebody's"):
        harm(target)
    assert target.api.log == []
