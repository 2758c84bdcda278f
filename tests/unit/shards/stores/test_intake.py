"""What is kept of an object, and that an author's function cannot do harm."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from shards.errors import ConfigError
from shards.objects import Meta, Object, ObjectName, OwnerReference
from shards.stores.indexes import MOST_VALUES, Index
from shards.stores.intake import Intake, Transform
from shards.stores.store import Change, Entry, StoreReader, StoreWriter

OWNER = OwnerReference("Website", "w", "o1", "demo.dev/v1", True)
A = ObjectName("ns", "a")


class _Object(msgspec.Struct):
    metadata: Meta


def thing(name: str, version: int = 5, **spec: Any) -> Entry:
    metadata = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
        "labels": {"app": "web"},
        "annotations": {"note": "n"},
        "ownerReferences": [OWNER],
        "managedFields": [{"manager": "x"}],
    }
    raw = msgspec.json.encode({"apiVersion": "demo.dev/v1", "kind": "Thing", "metadata": metadata, "spec": spec})
    return Entry(msgspec.json.decode(raw, type=_Object).metadata, raw)


def filled(intake: Intake, *entries: Entry) -> StoreReader:
    writer = StoreWriter(intake)
    writer.replace(entries, "10")
    return writer.reader


def without_managed_fields(body: Object) -> None:
    del body["metadata"]["managedFields"]


def only_the_size(body: Object) -> Object:
    return {"spec": {"size": body["spec"]["size"]}, "metadata": {"name": "another", "uid": "forged"}}


class TestTransform:
    def test_it_may_change_the_object_that_it_is_given(self) -> None:
        view = filled(Intake(transform=without_managed_fields), thing("a", size=1))
        found = view.get(A)
        assert found is not None
        assert "managedFields" not in found["metadata"]
        assert found["spec"] == {"size": 1}
        assert view.partial

    def test_it_may_return_another_one_whose_identity_and_owner_stay_the_servers(self) -> None:
        entry = thing("a", size=1, rest="x")
        view = filled(Intake(transform=only_the_size), entry)
        assert view.get(A) == {
            "spec": {"size": 1},
            "metadata": {
                "name": "a",
                "namespace": "ns",
                "uid": "uid-a",
                "resourceVersion": "5",
                "ownerReferences": [msgspec.to_builtins(OWNER)],
            },
        }
        meta = view.meta(A)
        assert meta is not None
        assert (meta.labels, meta.annotations, meta.controller) == ({"app": "web"}, None, OWNER)

    @pytest.mark.parametrize(
        "transform",
        [
            lambda body: body["spec"].pop("not there"),
            lambda body: "no object",
            lambda body: {"metadata": []},
            lambda body: {"metadata": {}, "spec": object()},
        ],
    )
    def test_where_it_fails_the_object_is_kept_untouched_and_the_failure_told(
        self, transform: Transform, caplog: pytest.LogCaptureFixture
    ) -> None:
        intake = Intake(transform=transform)
        entry = thing("a", size=1)
        view = filled(intake, entry)
        assert view.raw(A) == entry.raw
        assert [hook.failures for hook in intake.hooks] == [1]
        assert "transform failed for ns/a" in caplog.text

    def test_a_relist_of_the_same_objects_changes_nothing(self) -> None:
        writer = StoreWriter(Intake(transform=without_managed_fields))
        writer.replace([thing("a")], "10")
        assert writer.replace([thing("a")], "20") == []

    def test_a_function_that_fails_for_every_object_does_not_fill_the_log(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        intake = Intake(transform=lambda body: body["not there"])
        with caplog.at_level(logging.ERROR):
            filled(intake, *(thing(f"n{number}") for number in range(100)))
        assert intake.hooks[0].failures == 100
        assert len(caplog.records) == 7

    def test_a_slow_function_is_told_of(self, caplog: pytest.LogCaptureFixture) -> None:
        now = [0.0]

        def slow(body: Object) -> None:
            now[0] += 0.25

        intake = Intake(transform=slow, clock=lambda: now[0])
        filled(intake, thing("a"))
        assert intake.hooks[0].slow == 1
        assert "transform took 0.250 s for ns/a" in caplog.text


def meta_of(raw: bytes) -> Meta:
    return msgspec.json.decode(raw, type=_Object).metadata


class TestMetadataOnly:
    def test_nothing_is_kept_but_metadata(self) -> None:
        entry = thing("a", size=1)
        view = filled(Intake(metadata_only=True), entry)
        body = msgspec.json.decode(entry.raw)
        del body["spec"]
        assert view.get(A) == body
        assert view.meta(A) == entry.meta
        assert view.partial

    def test_what_the_server_has_reduced_says_its_own_version_and_no_kind_that_it_is_not(self) -> None:
        metadata = b'{"name":"a","namespace":"ns","uid":"u","resourceVersion":"5"}'
        raw = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":' + metadata + b"}"
        view = filled(Intake(metadata_only=True, api_version="demo/v1"), Entry(meta_of(raw), raw))
        assert view.raw(A) == b'{"apiVersion":"demo/v1","metadata":' + metadata + b"}"

    def test_what_the_server_has_reduced_already_is_kept_as_it_is(self) -> None:
        raw = b'{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"5"}}'
        assert filled(Intake(metadata_only=True), Entry(meta_of(raw), raw)).raw(A) == raw

    def test_a_transform_sees_the_whole_object(self) -> None:
        def note(body: Object) -> None:
            body["metadata"]["annotations"] = {"size": str(body["spec"]["size"])}

        view = filled(Intake(transform=note, metadata_only=True), thing("a", size=7))
        found = view.get(A)
        assert found is not None
        assert found["metadata"]["annotations"] == {"size": "7"}
        assert "spec" not in found


class Sized(msgspec.Struct):
    size: int = 0


class Projection(msgspec.Struct):
    spec: Sized


class TestProjections:
    def test_an_object_comes_as_the_callers_own_struct(self) -> None:
        view = filled(Intake(), thing("a", size=7))
        assert view.get_as(A, Projection) == Projection(Sized(7))
        assert view.get_as(ObjectName("ns", "b"), Projection) is None

    def test_one_that_does_not_fit_says_where(self) -> None:
        view = filled(Intake(), thing("a", size="large"))
        with pytest.raises(msgspec.ValidationError, match=r"\$\.spec\.size"):
            view.get_as(A, Projection)


class TestIndexes:
    def test_a_function_over_the_whole_object_or_a_projection_is_given_just_that(self) -> None:
        by_dict = Index("dict", lambda body: [str(body["spec"]["size"])], dict)
        by_struct = Index("struct", lambda found: [str(found.spec.size)], Projection)
        by_meta = Index("meta", lambda meta: [meta.name, meta.namespace])
        view = filled(Intake(indexes=(by_dict, by_struct, by_meta)), thing("a", size=7), thing("b", size=8))
        for name, value in (("dict", "7"), ("struct", "7"), ("meta", "a")):
            assert view.find(name, value) == ([A], [])
        assert len(view.find("meta", "ns").names) == 2
        assert view.find("dict", "9") == ([], [])

    @pytest.mark.parametrize(
        "function",
        [
            lambda meta: 1 / 0,
            lambda meta: meta.namespace,
            lambda meta: [meta.generation],
            lambda meta: None,
            lambda meta: (str(number) for number in iter(int, 1)),
            lambda meta: (str(number) for number in range(MOST_VALUES + 1)),
            lambda meta: [[]],
        ],
    )
    @pytest.mark.filterwarnings("ignore")
    def test_an_object_whose_function_fails_is_held_and_told_as_unknown(
        self, function: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        intake = Intake(indexes=(Index("mine", function), Index.namespace()))
        view = filled(intake, thing("a"))
        assert view.find("mine", "a") == ([], [A])
        assert view.find("namespace", "ns") == ([A], [])
        assert view.get(A) is not None
        assert "index 'mine' failed for ns/a" in caplog.text

    def test_one_that_does_not_fit_its_projection_is_unknown_too(self) -> None:
        index = Index("size", lambda found: [str(found.spec.size)], Projection)
        assert filled(Intake(indexes=(index,)), thing("a", size="large")).find("size", "7") == ([], [A])

    def test_a_function_that_changed_its_mind_leaves_nothing_behind(self) -> None:
        value = ["old"]
        writer = StoreWriter(Intake(indexes=(Index("mine", lambda meta: value),)))
        writer.replace([thing("a")], "10")
        value[0] = "new"
        entry = thing("a", 12)
        writer.apply(entry.meta, entry.raw)
        assert writer.reader.find("mine", "old") == ([], [])
        assert writer.reader.find("mine", "new") == ([A], [])
        value[0] = "newest"
        writer.delete(thing("a", 13).meta)
        assert writer.reader.find("mine", "new") == ([], [])

    def test_a_relist_asks_again_where_the_function_failed_and_a_list_given_up_changes_nothing(self) -> None:
        broken = [True]

        def mended(meta: Meta) -> list[str]:
            if broken[0]:
                raise RuntimeError("not yet")
            return ["v"]

        writer = StoreWriter(Intake(indexes=(Index("mine", mended),)))
        writer.replace([thing("a")], "10")
        broken[0] = False
        writer.begin().add(thing("a"))
        assert writer.reader.find("mine", "v") == ([], [A])
        assert writer.replace([thing("a")], "20") == []
        assert writer.reader.find("mine", "v") == ([A], [])
        writer.delete(thing("a", 21).meta)
        assert writer.reader.find("mine", "v") == ([], [])

    def test_an_index_that_is_not_declared_is_refused_by_name(self) -> None:
        with pytest.raises(ConfigError, match="no such index; declared are: 'namespace'"):
            filled(Intake(indexes=(Index.namespace(),))).find("mine", "v")

    def test_two_declarations_of_one_built_in_index_are_equal(self) -> None:
        assert Index.label("app") == Index.label("app")
        assert Index.label("app") != Index.label("tier")
        assert Index.namespace() == Index.namespace()

    def test_two_of_one_name_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="name of its own"):
            Intake(indexes=(Index.namespace(), Index.namespace()))


class TestSelect:
    @pytest.mark.parametrize("indexes", [(), (Index.namespace(),), (Index.label("app"), Index.namespace())])
    def test_by_namespace_and_labels_with_an_index_or_without(self, indexes: tuple[Index, ...]) -> None:
        view = filled(Intake(indexes=indexes), thing("a"), thing("b"))
        both = [A, ObjectName("ns", "b")]
        assert view.select() == both
        assert view.select(namespace="ns", labels={"app": "web"}) == both
        assert view.select(labels={"app": "web", "tier": "x"}) == []
        assert view.select(namespace="other") == []
        assert view.select(namespace="n") == []


class TestReusedVersions:
    """A server that was restored from a backup gives the same versions out again."""

    def test_other_contents_under_a_version_that_is_known_are_taken_over_and_told(self) -> None:
        writer = StoreWriter()
        writer.replace([thing("a", 5, size=1)], "10")
        other = thing("a", 5, size=2)
        assert writer.replace([other], "8") == [Change(thing("a", 5).meta, other.meta)]
        assert writer.reader.raw(A) == other.raw

    def test_an_object_that_is_nested_too_deeply_to_be_compared_does_not_stop_the_list(self) -> None:
        writer = StoreWriter()
        first = thing("a", 5)
        deep = b'{"metadata":{},"spec":' + b"[" * 5000 + b"%d" + b"]" * 5000 + b"}"
        writer.replace([Entry(first.meta, deep % 1)], "10")
        assert len(writer.replace([Entry(first.meta, deep % 2)], "20")) == 1

    def test_the_same_contents_in_another_order_are_the_same(self) -> None:
        writer = StoreWriter()
        first = thing("a", 5, size=1)
        writer.replace([first], "10")
        body = msgspec.json.decode(first.raw)
        turned = msgspec.json.encode(dict(reversed(body.items())))
        assert writer.replace([Entry(first.meta, turned)], "20") == []
        assert writer.reader.raw(A) == first.raw
