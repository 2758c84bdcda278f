"""Which operations hypothesis may choose from. Names and values are few, so that operations meet each other."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.contract.generated import operations as op
from tests.contract.generated.fields import FIELDS, METADATA, STATUS, WORDS, Documents
from tests.contract.generated.scenes import Subject
from tests.contract.transcripts import Document

NAMES = ("a", "b", "c")


PATHS: dict[Subject, tuple[tuple[str, st.SearchStrategy[Any]], ...]] = {
    op.CONFIG_MAP: (("/data/a", WORDS), ("/data/b", WORDS), ("/data", st.just({"a": "9"}))),
    op.LEASE: (("/spec/holderIdentity", WORDS), ("/spec/leaseDurationSeconds", st.integers(1, 3))),
    op.DEPLOYMENT: (
        ("/spec/replicas", st.integers(0, 3)),
        ("/spec/template/spec/containers/0/image", st.sampled_from(["image:1", "image:3"])),
        ("/spec/template/spec/containers/0/args", st.just(["9"])),
    ),
    op.WIDGET: (
        ("/spec/size", st.integers(0, 4)),
        ("/spec/tags", st.just(["t"])),
        ("/spec/tags/-", st.sampled_from(["t", "w"])),
        ("/spec/options/deep", st.just({"on": True})),
        ("/spec/free/anything", WORDS),
    ),
    op.SECRET: (("/data/a", st.sampled_from(["YQ==", "Yg=="])), ("/stringData", st.just({"b": "2"}))),
}
"""What JSON patches touch, besides labels and finalizers."""
_SHARED_PATHS: tuple[tuple[str, st.SearchStrategy[Any]], ...] = (
    ("/metadata/labels", st.just({"app": "x"})),
    ("/metadata/labels/app", st.sampled_from(["x", "y"])),
    ("/metadata/finalizers/-", st.just("example.com/a")),
    ("/metadata/finalizers", st.just([])),
)


_moved_label = st.sampled_from(["copy", "move"]).map(
    lambda name: {"op": name, "from": "/metadata/labels/app", "path": "/metadata/labels/tier"}
)


def _json_operation(path: str, values: st.SearchStrategy[Any]) -> Documents:
    plain = st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "add", "replace", "test"]), "path": st.just(path), "value": values}
    )
    return plain | st.just({"op": "remove", "path": path})


def _json_patches(subject: Subject) -> st.SearchStrategy[list[Document]]:
    paths = (*PATHS[subject], *_SHARED_PATHS)
    plain = [_json_operation(path, values) for path, values in paths]
    return st.lists(st.one_of([*plain, _moved_label]), min_size=1, max_size=2)


def _with_nulls(document: Document, nulls: frozenset[str]) -> Document:
    """The same with the leaves of these names set to null, which removes them where a patch is merged."""
    return {
        name: None if name in nulls else _with_nulls(value, nulls) if isinstance(value, dict) else value
        for name, value in document.items()
    }


_NULLABLE = ("a", "b", "app", "labels", "size", "options", "spec", "replicas", "args")
_nulls = st.frozensets(st.sampled_from(_NULLABLE), max_size=2)


@st.composite
def _merged(draw: st.DrawFn, documents: Documents) -> Document:
    body = draw(documents)
    metadata = draw(st.none() | METADATA)
    if metadata:
        body = {**body, "metadata": metadata}
    nulls = draw(_nulls)
    return _with_nulls(body, nulls - {"spec"} if "spec" in body and draw(st.booleans()) else nulls)


@st.composite
def _applied(draw: st.DrawFn, documents: Documents) -> Document:
    body = draw(documents)
    if "tags" in body.get("spec", {}):  # the real server tells either of two mistakes, at random
        body["spec"]["tags"] = sorted(set(body["spec"]["tags"]))
    metadata = draw(st.none() | METADATA)
    body = {**body, "metadata": metadata} if metadata else body
    return _with_nulls(body, draw(_nulls) if draw(st.integers(0, 5)) == 0 else frozenset())


_managers = st.sampled_from(["first", "second", "third"])
_options = st.builds(
    op.Options,
    manager=st.sampled_from(["", "", "first", "second"]),
    dry_run=st.sampled_from([False, False, False, True]),
    validation=st.sampled_from(["", "", "Strict", "Ignore", "Warn"]),
)
_apply_options = st.builds(
    op.Options, manager=_managers, dry_run=st.sampled_from([False] * 4 + [True]), force=st.booleans()
)
_names = st.sampled_from(NAMES)
_selectors = st.sampled_from(["", "app", "app=x", "app!=y", "tier in (x,y)", "!tier"])
_shown = st.sampled_from(["", "", "", "table", "partial"])
_backs = st.sampled_from([None, None, -1, 0, 1, 2, 5])


@st.composite
def _creates(draw: st.DrawFn, subject: Subject) -> op.Create:
    name = draw(st.sampled_from((*NAMES, *NAMES, "")))
    owner = draw(st.sampled_from(["", "", "", "a", "b"])) if subject in (op.CONFIG_MAP, op.LEASE) else ""
    fields = draw(FIELDS[subject])
    if subject in STATUS and draw(st.booleans()):
        fields = {**fields, **draw(STATUS[subject])}
    options = draw(_options)
    return op.Create(subject, name, fields, draw(METADATA), "" if name == owner else owner, options)


@st.composite
def _updates(draw: st.DrawFn, subject: Subject) -> op.Update:
    subresource = "status" if subject in STATUS and draw(st.booleans()) else ""
    fields = draw(FIELDS[subject])
    if subresource or (subject in STATUS and draw(st.booleans())):
        fields = {**fields, **draw(STATUS[subject])}
    version = draw(st.sampled_from(["none", "newest", "newest", "older", "read", "read"]))
    return op.Update(subject, draw(_names), fields, draw(METADATA), version, subresource, draw(_options))


@st.composite
def _patches(draw: st.DrawFn, subject: Subject) -> op.Patch:
    kind = draw(st.sampled_from(["json", "merge", "strategic", "apply", "apply", "apply"]))
    subresource = "status" if subject in STATUS and draw(st.sampled_from([False, False, True])) else ""
    documents = STATUS[subject] if subresource else FIELDS[subject]
    options = draw(_apply_options if kind == "apply" else _options)
    if kind == "json":
        body: Any = draw(_json_patches(subject))
    else:
        body = draw(_applied(documents) if kind == "apply" else _merged(documents))
    return op.Patch(subject, draw(_names), kind, body, subresource, options)


@st.composite
def _deletes(draw: st.DrawFn, subject: Subject) -> op.Delete:
    policy = draw(st.sampled_from(["", "", "Background", "Orphan", "Foreground"]))
    if subject not in (op.CONFIG_MAP, op.LEASE):
        policy = draw(st.sampled_from(["", "Background"]))
    return op.Delete(
        subject,
        draw(_names),
        precondition=draw(st.sampled_from(["", "", "", "uid", "wrong uid", "version", "older version"])),
        policy=policy,
        grace_seconds=draw(st.sampled_from([None, None, 0, 5])),
        dry_run=draw(st.sampled_from([False, False, False, True])),
    )


def _reads(subject: Subject) -> st.SearchStrategy[op.Operation]:
    return st.one_of(
        st.builds(op.Get, st.just(subject), _names, _backs, shown=_shown),
        st.builds(
            op.List,
            st.just(subject),
            label_selector=_selectors,
            field_selector=st.sampled_from(["", "", "metadata.name=a", "metadata.name!=b"]),
            limit=st.sampled_from([0, 0, 1, 2]),
            back=_backs,
            match=st.sampled_from(["", "", "Exact", "NotOlderThan"]),
            shown=_shown,
        ),
        st.builds(
            op.Watch,
            st.just(subject),
            back=st.sampled_from([None, -1, 0, 1, 2, 3, 5, 8]),
            label_selector=st.sampled_from(["", "app=x", "tier"]),
            initial=st.booleans(),
        ),
    )


@st.composite
def _scales(draw: st.DrawFn) -> op.Scale:
    kind = draw(st.sampled_from(["put", "json", "merge", "apply"]))
    return op.Scale(draw(_names), draw(st.integers(-1, 3)), kind, draw(_apply_options if kind == "apply" else _options))


def _about(subject: Subject) -> st.SearchStrategy[op.Operation]:
    collections = st.builds(
        op.DeleteCollection, st.just(subject), st.sampled_from(["app=x", "tier"]), st.sampled_from([False, True])
    )
    return st.one_of(
        _creates(subject),
        _creates(subject),
        _updates(subject),
        _patches(subject),
        _patches(subject),
        _patches(subject),
        _deletes(subject),
        _reads(subject),
        collections,
        *([_scales()] if subject is op.DEPLOYMENT else []),
    )


def histories(length: int) -> st.SearchStrategy[list[op.Operation]]:
    """So many operations, each about any of the subjects."""
    every = st.one_of([_about(subject) for subject in op.SUBJECTS])
    return st.lists(every, min_size=length, max_size=length)
