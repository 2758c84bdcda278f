"""Documents name what exists: links, files, metrics, the example in the README."""

from __future__ import annotations

import re
from itertools import chain, product
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from fleet.health.metrics import FleetMetrics, PodMetrics, snapshot
from shards.gate_metrics import StaleSyncSkips
from shards.metrics import RequestMetrics, ShardMetrics

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_FILE = re.compile(r"(?<![\w./])(?:shards|fleet|chaos|tests|docs|deploy)/[\w./{},-]*[\w}]")
_METRIC_ROW = re.compile(r"^\| `([\w<>]+)` \| (counter|gauge|histogram) \| ?([^|]*) \| (\S+) \|", re.MULTILINE)


def prose_of(document: Path) -> str:
    return _FENCE.sub("", document.read_text())


def anchors_of(document: Path) -> set[str]:
    """As GitHub makes them: lower case, punctuation gone, dashes for blanks."""
    titles = (re.sub(r"[^\w\s-]", "", title.lower()) for title in _HEADING.findall(prose_of(document)))
    return {title.strip().replace(" ", "-") for title in titles}


def broken(document: Path, link: str) -> str:
    """What is wrong with a relative link; "" for nothing."""
    path, _, anchor = link.partition("#")
    target = (document.parent / path).resolve() if path else document
    if not target.exists():
        return f"{link}: no such file"
    if anchor and anchor not in anchors_of(target):
        return f"{link}: no such heading"
    return ""


def expanded(path: str) -> list[str]:
    """The paths that braces stand for: a/{b,c}.py is a/b.py and a/c.py."""
    parts = [part.split(",") for part in re.split(r"[{}]", path)]
    return ["".join(choice) for choice in product(*parts)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(document: Path) -> None:
    links = [link for link in _LINK.findall(prose_of(document)) if "://" not in link]

    assert [wrong for link in links if (wrong := broken(document, link))] == []


def test_a_link_to_nowhere_would_be_found() -> None:
    index = ROOT / "docs/index.md"

    assert broken(index, "nowhere.md") == "nowhere.md: no such file"
    assert broken(index, "operations.md#nowhere") == "operations.md#nowhere: no such heading"
    assert broken(index, "operations.md#exit-codes") == ""


def test_every_document_is_in_the_index() -> None:
    index = (ROOT / "docs/index.md").read_text()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}

    assert {name for name in pages if f"({name})" not in index} == set()


def test_every_decision_is_in_its_index() -> None:
    index = (ROOT / "docs/decisions/README.md").read_text()

    assert [path.name for path in (ROOT / "docs/decisions").glob("0*.md") if f"({path.name})" not in index] == []


@pytest.mark.parametrize("name", ["architecture.md", "handover.md", "development.md", "chaos.md"])
def test_the_files_that_a_page_names_exist(name: str) -> None:
    named = set(chain.from_iterable(map(expanded, _FILE.findall((ROOT / "docs" / name).read_text()))))

    assert named
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


SOURCES = {
    "shardfleet_": "shardfleet",
    "controller_runtime_": "controller-runtime",
    "workqueue_": "client-go",
    "reflector_": "client-go",
    "rest_client_": "client-go",
    "informer_": "client-go",
}
"""Whose name it is, by its beginning."""


def labels_of(metric: object) -> tuple[str, ...]:
    return tuple(getattr(metric, "_labelnames", ()) or getattr(metric, "_labels", ()))


def documented() -> dict[str, tuple[str, frozenset[str], str]]:
    """Type, labels and source by name. A gauge has the label `worker` from the pod's page."""
    found = {}
    shards = ShardMetrics()
    for holder in (
        shards,
        shards.gate,
        shards.acts,
        shards.filters,
        RequestMetrics(),
        FleetMetrics(CollectorRegistry()),
    ):
        for metric in vars(holder).values():
            if not hasattr(metric, "describe") or isinstance(metric, StaleSyncSkips):
                continue
            [family] = metric.describe()
            labels = {*labels_of(metric), *(["worker"] if family.type == "gauge" else [])}
            name = f"{family.name}_total" if family.type == "counter" else family.name
            found[name] = (family.type, frozenset(labels), source_of(name))
    found["<controller>_stale_sync_skips_total"] = ("counter", frozenset(StaleSyncSkips.LABELS), "Kubernetes")
    pod = PodMetrics()
    pod.update("worker-0", 1, snapshot(CollectorRegistry()))
    for family in pod.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        found[name] = (family.type, frozenset({"worker"}), source_of(name))
    return found


def source_of(name: str) -> str:
    [source] = [source for beginning, source in SOURCES.items() if name.startswith(beginning)]
    return source


def test_the_metrics_page_has_every_metric_with_its_type_labels_and_source_and_no_other() -> None:
    rows = _METRIC_ROW.findall((ROOT / "docs/metrics.md").read_text())

    named = {name: (kind, frozenset(re.findall(r"`(\w+)`", labels)), source) for name, kind, labels, source in rows}

    assert len(named) == len(rows)
    assert named == documented()


_METRIC = re.compile(rf"\b(?:{'|'.join(SOURCES)})\w+\b")
_ENDINGS = re.compile(r"_(?:bucket|sum|count)$")
_THEIRS = re.compile(r"^\| theirs \| why not \|$.*?^$", re.MULTILINE | re.DOTALL)
"""The table of what others measure and this project does not."""


def unknown_metrics(text: str) -> list[str]:
    known = documented().keys()
    names = set(_METRIC.findall(_THEIRS.sub("", text)))
    return sorted(name for name in names if not {name, _ENDINGS.sub("", name)} & known)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_metrics_that_a_page_names_exist(document: Path) -> None:
    assert unknown_metrics(document.read_text()) == []


def test_a_metric_that_does_not_exist_would_be_found() -> None:
    assert unknown_metrics("see `shardfleet_typo_total` and `workqueue_depth`") == ["shardfleet_typo_total"]


def test_the_readme_shows_the_example_as_it_is() -> None:
    example = (ROOT / "docs/examples/websites.py").read_text()
    code = example[example.index("from shards import") :]

    assert f"```python\n{code}```" in (ROOT / "README.md").read_text()


def test_the_tests_that_documents_name_exist() -> None:
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    defined = {name for path in tests for name in re.findall(r"def (test_\w+)\(", path.read_text())}
    named = {name for document in DOCUMENTS for name in re.findall(r"`(test_\w+)`", prose_of(document))}
    assert "test_success_resets_it" in named
    assert named - defined - {path.stem for path in tests} == set()


_CASE_ROW = re.compile(r"^\| (B\d+(?:, B\d+)*) \|.*\| ([^|]*) \|$", re.MULTILINE)
_CASE_TEST = re.compile(r"([\w/]+): `(test_\w+)`")
UNTOLD = {f"B{number:02}" for number in (3, 6, 9, 12, 15, 18, 24, 39, 51, 54, 66, 69, 72, 75, 78, 81, 93, 96)}
"""Cases that no report of ours tells of."""


def cases() -> dict[str, set[tuple[str, str]]]:
    """File and name of the tests of each case, as the page has them."""
    found: dict[str, set[tuple[str, str]]] = {}
    for ids, tests in _CASE_ROW.findall((ROOT / "docs/cases.md").read_text()):
        found |= {case: set(_CASE_TEST.findall(tests)) for case in ids.split(", ")}
    return found


def test_every_case_has_a_test_where_the_page_says() -> None:
    found = cases()
    wanted = {f"B{number:02}" for number in (*range(1, 84), *range(91, 101))} - UNTOLD

    assert found.keys() == wanted
    assert {case for case, tests in found.items() if not tests} == set()
    named = set().union(*found.values())
    missing = {
        (file, name)
        for file, name in named
        if f"def {name}(" not in (ROOT / "tests" / f"{file}.py").read_text(encoding="utf-8")
    }
    assert missing == set()


def test_every_test_that_is_named_after_a_case_is_on_its_page() -> None:
    found = cases()
    for path in (ROOT / "tests").rglob("test_*.py"):
        file = str(path.relative_to(ROOT / "tests").with_suffix(""))
        for name in re.findall(r"def (test_b\d+_\w+)\(", path.read_text()):
            if name.endswith("_oracle_fires"):
                continue
            for number in re.findall(r"(?<=_b)(\d+)(?=_)", name):
                assert (file, name) in found[f"B{number}"]
