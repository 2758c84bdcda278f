from __future__ import annotations

import pytest

from fleet.devcluster.kinds.scale import (
    BUILT_IN_PATHS,
    ScaleFault,
    ScalePaths,
    scale_causes,
    scale_of,
    scaled,
    selector_text,
)

PATHS = ScalePaths(("spec", "size"), ("status", "size"), ("status", "selector"))


def test_a_scale_shows_the_numbers_at_the_paths() -> None:
    body = {"metadata": {"name": "a", "labels": {}}, "spec": {"size": 3}, "status": {"size": 2, "selector": "a=b"}}
    scale = scale_of(PATHS, body)
    assert scale["metadata"] == {"name": "a"}
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "a=b"})


def test_scaling_touches_nothing_but_the_path() -> None:
    body = {"metadata": {"name": "a"}, "spec": {"size": 3, "x": 1}}
    assert scaled(PATHS, body, 5)["spec"] == {"size": 5, "x": 1}
    assert body["spec"] == {"size": 3, "x": 1}


def test_a_selector_is_shown_as_a_query() -> None:
    selector = {
        "matchLabels": {"b": "1"},
        "matchExpressions": [
            {"key": "x", "operator": "In", "values": ["2", "1"]},
            {"key": "a", "operator": "DoesNotExist"},
        ],
    }
    assert selector_text(selector) == "!a,b=1,x in (1,2)"
    assert scale_of(BUILT_IN_PATHS, {"metadata": {}, "spec": {"selector": selector}})["status"]["selector"]


def test_a_number_that_is_none_is_a_fault() -> None:
    with pytest.raises(ScaleFault, match="accessor error: x is of the type string, expected int64"):
        scale_of(PATHS, {"metadata": {}, "spec": {"size": "x"}})
    assert [cause.field for cause in scale_causes(PATHS, {"spec": {"size": -1}}, status_only=False)] == [".spec.size"]
