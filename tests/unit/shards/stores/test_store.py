"""The store: what it holds, what it has proof of, and that its indexes agree."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shards.objects import Key, Meta, ObjectName, OwnerReference, Resource
from shards.stores.store import COMPARE_SLICE, TOMBSTONES, Change, Entry, StoreReader, StoreWriter
from shards.versions import Incomparable, Version


def meta(name: str, version: int | str, uid: str = "", owner: str = "") -> Meta:
    owners = (OwnerReference(kind="Website", name="w", uid=owner, controller=True),) if owner else None
    return Meta(
        name=name, namespace="ns", uid=uid or f"uid-{name}", resource_version=str(version), owner_references=owners
    )


def raw(of: Meta) -> bytes:
    return msgspec.json.encode({"metadata": {"name": of.name, "resourceVersion": of.resource_version}})


def entry(of: Meta) -> Entry:
    return Entry(of, raw(of))


def named(name: str) -> ObjectName:
    return ObjectName("ns", name)


def synced(*metas: Meta, at: int = 10) -> StoreWriter:
    writer = StoreWriter()
    writer.replace([entry(each) for each in metas], str(at))
    return writer


class TestReading:
    def test_an_empty_store_has_no_version_and_shows_nothing(self) -> None:
        view = StoreWriter().reader
        assert (view.resource_version, view.highest_object_version, len(view)) == ("", "", 0)
        assert not view.shows(named("a"), "uid-a", "1")
        assert view.get(named("a")) is None

    def test_every_get_returns_a_copy_of_its_own(self) -> None:
        view = synced(meta("a", 5)).reader
        first = view.get(named("a"))
        assert first is not None
        first["metadata"]["name"] = "spoilt"
        assert view.get(named("a")) == {"metadata": {"name": "a", "resourceVersion": "5"}}

    def test_the_newest_keys_are_those_of_the_highest_versions(self) -> None:
        view = synced(meta("a", 9), meta("b", 100), meta("c", 10), meta("d", 99)).reader
        assert [key.name for key in view.newest_keys(2)] == ["b", "d"]
        assert [key.name for key in view.newest_keys(9)] == ["b", "d", "c", "a"]

    def test_objects_are_found_by_the_uid_of_their_controller_and_by_their_own(self) -> None:
        view = synced(meta("a", 5, owner="o1"), meta("b", 6, owner="o1"), meta("c", 7, owner="o2")).reader
        assert {each.name for each in view.owned_by("o1")} == {"a", "b"}
        assert view.owned_by("nobody") == ()
        assert view.name_of("uid-c") == named("c")
        assert {each.name for each in view.metas()} == {"a", "b", "c"}

    def test_uid_and_version_are_there_without_the_metadata(self) -> None:
        view = synced(meta("a", 5)).reader
        assert view.version_of(named("a")) == ("uid-a", "5")
        assert view.version_of(named("b")) is None
        assert named("a") in view
        assert named("b") not in view
        assert "a" not in view

    def test_all_keys_are_told_while_the_store_changes(self) -> None:
        writer = synced(meta("a", 5), meta("b", 6), meta("c", 7))
        keys = writer.reader.each_key()
        assert next(keys) == Key("ns", "a", "uid-a")
        writer.delete(meta("b", 11))
        c, d = meta("c", 12), meta("d", 13)
        writer.apply(c, raw(c))
        writer.apply(d, raw(d))
        assert list(keys) == [Key("ns", "c", "uid-c")]


class TestEvents:
    def test_an_addition_a_modification_and_a_deletion_are_told_apart(self) -> None:
        writer = synced()
        a11, a12, a13 = meta("a", 11), meta("a", 12), meta("a", 13)
        assert writer.apply(a11, raw(a11)) == Change(None, a11)
        assert writer.apply(a12, raw(a12)) == Change(a11, a12)
        assert writer.delete(a13) == Change(a12, None)
        assert writer.reader.resource_version == "13"
        assert len(writer.reader) == 0

    @pytest.mark.parametrize("version", [5, 12])
    def test_a_replayed_event_changes_nothing(self, version: int) -> None:
        writer = synced(meta("a", 12), at=12)
        old = meta("a", version)
        assert writer.apply(old, raw(old)) is None
        assert writer.reader.meta(named("a")) == meta("a", 12)
        assert writer.reader.resource_version == "12"

    def test_a_replayed_event_does_not_bring_a_deleted_object_back(self) -> None:
        writer = synced(meta("a", 5))
        writer.delete(meta("a", 11))
        assert writer.apply(meta("a", 5), b"{}") is None
        assert len(writer.reader) == 0

    def test_a_deletion_with_an_old_version_counts_and_lowers_nothing(self) -> None:
        writer = synced(meta("a", 9), at=500)
        assert writer.delete(meta("a", 3)) == Change(meta("a", 9), None)
        assert writer.reader.resource_version == "500"
        assert writer.reader.highest_object_version == "9"

    def test_a_deletion_of_an_earlier_object_leaves_its_successor_alone(self) -> None:
        writer = synced(meta("a", 9, uid="second"))
        assert writer.delete(meta("a", 11, uid="first")) is None
        assert writer.reader.meta(named("a")) == meta("a", 9, uid="second")

    def test_another_uid_under_the_same_name_replaces_the_object_and_proves_it_gone(self) -> None:
        writer = synced(meta("a", 5, uid="first", owner="o1"))
        second = meta("a", 12, uid="second", owner="o2")
        assert writer.apply(second, raw(second)) == Change(
            meta("a", 5, uid="first", owner="o1"), second, final_unknown=True
        )
        view = writer.reader
        assert view.gone("first")
        assert not view.gone("second")
        assert view.name_of("first") is None
        assert (view.owned_by("o1"), view.owned_by("o2")) == ((), (second,))

    def test_an_object_that_comes_back_into_the_filter_is_not_gone(self) -> None:
        writer = synced(meta("a", 5))
        writer.delete(meta("a", 11))
        assert writer.reader.gone("uid-a")
        back = meta("a", 12)
        assert writer.apply(back, raw(back)) == Change(None, back)
        assert not writer.reader.gone("uid-a")

    def test_an_owner_that_changes_moves_the_object_in_the_index(self) -> None:
        writer = synced(meta("a", 5, owner="o1"))
        for owner, version in (("o2", 11), ("", 12)):
            changed = meta("a", version, owner=owner)
            writer.apply(changed, raw(changed))
            assert writer.reader.owned_by("o1") == ()
        assert writer.reader.owned_by("o2") == ()

    def test_tombstones_are_bounded_and_the_oldest_goes_first(self) -> None:
        writer = synced()
        for number in range(TOMBSTONES + 1):
            writer.delete(meta(f"n{number}", 11 + number))
        assert not writer.reader.gone("uid-n0")
        assert writer.reader.gone("uid-n1")


class TestVersions:
    def test_a_bookmark_raises_the_version_and_never_lowers_it(self) -> None:
        writer = synced(at=10)
        writer.bookmark("20")
        writer.bookmark("9")
        assert writer.reader.resource_version == "20"
        assert writer.reader.highest_object_version == ""

    def test_nothing_but_a_list_gives_a_view_its_first_version(self) -> None:
        writer = StoreWriter()
        writer.bookmark("20")
        a = meta("a", 21)
        writer.apply(a, raw(a))
        assert writer.reader.resource_version == ""

    def test_versions_longer_than_any_integer_are_compared_as_numbers(self) -> None:
        big = "9" * 40
        writer = synced(at=10)
        writer.bookmark(big)
        writer.bookmark("1" + "0" * 39)
        assert writer.reader.resource_version == big

    def test_the_highest_object_version_counts_objects_and_deletions_not_lists_and_bookmarks(self) -> None:
        writer = synced(meta("a", 4), meta("b", 7), at=100)
        assert writer.reader.highest_object_version == "7"
        writer.bookmark("110")
        assert writer.reader.highest_object_version == "7"
        writer.delete(meta("b", 120))
        assert writer.reader.highest_object_version == "120"
        writer.replace([entry(meta("a", 4))], "130")
        assert writer.reader.highest_object_version == "120"

    def test_of_a_list_it_is_known_that_what_it_lacks_was_gone_by_then(self) -> None:
        writer = synced(meta("a", 4), at=100)
        writer.bookmark("110")
        assert writer.reader.listed_version == "100"
        writer.replace([], "130")
        assert writer.reader.listed_version == "130"


class TestShows:
    """Whether the view includes a write, given as name, UID and version."""

    def test_the_object_at_that_version_or_later(self) -> None:
        view = synced(meta("a", 7), at=7).reader
        assert view.shows(named("a"), "uid-a", "7")
        assert view.shows(named("a"), "uid-a", "6")
        assert not view.shows(named("a"), "uid-a", "8")

    def test_a_bookmark_past_the_write_of_an_object_that_the_view_does_not_hold(self) -> None:
        writer = synced(at=10)
        assert not writer.reader.shows(named("a"), "uid-a", "15")
        writer.bookmark("15")
        assert writer.reader.shows(named("a"), "uid-a", "15")

    def test_a_view_that_is_past_the_write_and_holds_an_older_object_proves_nothing(self) -> None:
        writer = synced(meta("a", 7), at=10)
        writer.bookmark("30")
        assert not writer.reader.shows(named("a"), "uid-a", "20")

    def test_a_deletion_past_the_write(self) -> None:
        writer = synced(meta("a", 7), at=10)
        writer.delete(meta("a", 12))
        assert writer.reader.shows(named("a"), "uid-a", "11")
        assert not writer.reader.shows(named("a"), "uid-a", "13")

    def test_a_deletion_that_carries_the_version_of_the_write_itself(self) -> None:
        writer = synced(meta("a", 7), at=7)
        a9 = meta("a", 9)
        writer.apply(a9, raw(a9))
        writer.delete(meta("a", 9))
        assert writer.reader.shows(named("a"), "uid-a", "9")
        assert writer.reader.gone("uid-a")

    def test_a_successor_under_the_same_name(self) -> None:
        writer = synced(meta("a", 20, uid="second"), at=20)
        assert writer.reader.shows(named("a"), "first", "15")
        assert not writer.reader.shows(named("a"), "third", "25")

    def test_a_write_that_brings_an_object_back_into_the_filter_is_not_shown_by_its_leaving(self) -> None:
        writer = synced(meta("a", 7), at=10)
        writer.delete(meta("a", 12))
        assert not writer.reader.shows(named("a"), "uid-a", "13")

    def test_a_relist_past_the_write(self) -> None:
        writer = synced(meta("a", 7), at=10)
        writer.replace([], "20")
        assert writer.reader.shows(named("a"), "uid-a", "20")
        assert writer.reader.gone("uid-a")

    def test_what_was_shown_is_not_shown_any_more_after_the_server_was_restored(self) -> None:
        writer = synced(meta("a", 70), at=100)
        assert writer.reader.shows(named("b"), "uid-b", "90")
        writer.replace([entry(meta("a", 30))], "50")
        assert not writer.reader.shows(named("b"), "uid-b", "90")
        assert not writer.reader.shows(named("a"), "uid-a", "70")

    def test_of_a_version_that_cannot_be_compared_nothing_is_shown(self) -> None:
        view = synced(meta("a", 7)).reader
        for name in ("a", "b"):
            assert not view.shows(named(name), f"uid-{name}", "0x1")
        assert not view.reached("0x1")

    def test_a_view_of_another_resource_answers_no_gate(self) -> None:
        pods, pages = Resource("", "v1", "pods"), Resource("", "v1", "configmaps")
        writer = StoreWriter(resource=pages)
        writer.replace([], "9")
        assert writer.reader.version.includes(Version(pages, "7"))
        with pytest.raises(Incomparable, match="say nothing about v1/pods"):
            writer.reader.version.includes(Version(pods, "7"))
        with pytest.raises(Incomparable, match="unknown resource"):
            assert StoreWriter().reader.version.text

    def test_versions_longer_than_python_reads_integers_are_listed(self) -> None:
        longest = "9" * 5_000
        writer = StoreWriter()
        writer.replace([Entry(Meta("a", "ns", "uid-a", longest), b"{}")], longest)
        assert writer.reader.highest_object_version == longest


class TestListsThatCarryLiveEvents:
    def test_a_later_version_supersedes_and_an_earlier_one_does_not(self) -> None:
        writer = synced(meta("a", 5))
        gathered = writer.begin()
        for version in (6, 8, 7):
            gathered.add(entry(meta("a", version)))
        assert list(gathered.commit("20")) == [Change(meta("a", 5), meta("a", 8))]

    def test_what_was_removed_again_is_told_only_where_the_view_held_it(self) -> None:
        writer = synced(meta("a", 5, owner="o"))
        gathered = writer.begin()
        for name in ("a", "b"):
            gathered.add(entry(meta(name, 12, owner="o")))
            gathered.remove(meta(name, 13, owner="o"))
        gathered.remove(meta("c", 14))
        assert list(gathered.commit("20")) == [Change(meta("a", 5, owner="o"), None)]
        assert writer.reader.gone("uid-a")
        assert writer.reader.owned_by("o") == ()

    def test_another_object_of_the_same_name_takes_its_place(self) -> None:
        writer = synced()
        gathered = writer.begin()
        gathered.add(entry(meta("a", 12, "u1")))
        gathered.add(entry(meta("a", 14, "u2")))
        gathered.remove(meta("a", 13, "u1"))
        assert list(gathered.commit("20")) == [Change(None, meta("a", 14, "u2"))]
        assert writer.reader.name_of("u1") is None


class TestReplace:
    def test_the_first_list_is_marked_as_initial_and_later_ones_are_not(self) -> None:
        writer = StoreWriter()
        assert writer.replace([entry(meta("a", 5))], "10") == [Change(None, meta("a", 5), initial=True)]
        assert writer.replace([entry(meta("a", 5)), entry(meta("b", 12))], "20") == [Change(None, meta("b", 12))]

    def test_a_relist_brings_deletions_modifications_and_additions_and_nothing_for_the_rest(self) -> None:
        writer = synced(meta("gone", 4), meta("same", 5), meta("moved", 6))
        changes = writer.replace([entry(meta("same", 5)), entry(meta("moved", 12)), entry(meta("new", 13))], "20")
        assert changes == [
            Change(meta("gone", 4), None, final_unknown=True),
            Change(meta("moved", 6), meta("moved", 12)),
            Change(None, meta("new", 13)),
        ]

    def test_an_object_recreated_while_nobody_watched_is_deleted_and_added(self) -> None:
        writer = synced(meta("a", 5, uid="first"))
        changes = writer.replace([entry(meta("a", 15, uid="second"))], "20")
        assert changes == [
            Change(meta("a", 5, uid="first"), None, final_unknown=True),
            Change(None, meta("a", 15, uid="second")),
        ]
        assert writer.reader.gone("first")

    def test_an_unchanged_object_keeps_the_bytes_that_it_had(self) -> None:
        writer = synced(meta("a", 5))
        before = writer.reader.raw(named("a"))
        writer.replace([entry(meta("a", 5))], "20")
        assert writer.reader.raw(named("a")) is before

    def test_a_list_with_an_older_version_is_taken_over_and_counted(self) -> None:
        writer = synced(meta("a", 70), meta("b", 80), at=100)
        writer.delete(meta("b", 101))
        changes = writer.replace([entry(meta("a", 30)), entry(meta("b", 40))], "50")
        view = writer.reader
        assert changes == [Change(meta("a", 70), meta("a", 30)), Change(None, meta("b", 40))]
        assert (view.resource_version, view.highest_object_version, view.regressions) == ("50", "40", 1)
        assert not view.gone("uid-b")

    def test_readers_see_the_old_state_until_the_commit_and_a_list_given_up_leaves_no_trace(self) -> None:
        writer = synced(meta("a", 5))
        replacement = writer.begin()
        replacement.add(entry(meta("b", 15)))
        assert [each.name for each in writer.reader.metas()] == ["a"]
        again = writer.begin()
        again.add(entry(meta("c", 16)))
        again.commit("20")
        assert [each.name for each in writer.reader.metas()] == ["c"]

    def test_a_store_that_changed_while_a_list_was_gathered_refuses_it(self) -> None:
        writer = synced(meta("a", 5))
        replacement = writer.begin()
        writer.delete(meta("a", 11))
        with pytest.raises(RuntimeError, match="changed"):
            replacement.commit("20")

    def test_an_iterator_begun_before_a_relist_goes_on_over_the_old_state(self) -> None:
        writer = synced(meta("a", 5))
        seen: Iterator[Meta] = writer.reader.metas()
        writer.replace([entry(meta("b", 12))], "20")
        assert [each.name for each in seen] == ["a"]


class TestEventsDuringAList:
    """A list that is streamed may be overtaken by what happens while it is under way."""

    def test_a_newer_state_takes_the_place_of_the_listed_one_and_is_told_once(self) -> None:
        writer = synced(meta("a", 5, owner="o1"))
        replacement = writer.begin()
        replacement.add(entry(meta("a", 12, owner="o1")))
        replacement.add(entry(meta("a", 15, owner="o2")))
        replacement.add(entry(meta("a", 13)))
        assert list(replacement.commit("20")) == [Change(meta("a", 5, owner="o1"), meta("a", 15, owner="o2"))]
        assert [each.resource_version for each in writer.reader.owned_by("o2")] == ["15"]
        indexes_agree(writer.reader)

    def test_a_deletion_takes_the_object_out_of_the_list_and_is_proof(self) -> None:
        writer = synced(meta("a", 5))
        replacement = writer.begin()
        for each in (meta("a", 5), meta("b", 12)):
            replacement.add(entry(each))
        for each in (meta("a", 13), meta("b", 14), meta("c", 15)):
            replacement.remove(each)
        assert len(replacement) == 0
        assert list(replacement.commit("20")) == [Change(meta("a", 5), None)]
        view = writer.reader
        assert all(view.gone(f"uid-{name}") for name in "abc")
        assert view.highest_object_version == "15"
        indexes_agree(view)

    def test_an_object_that_came_back_is_not_gone(self) -> None:
        writer = synced()
        replacement = writer.begin()
        replacement.add(entry(meta("a", 12)))
        replacement.remove(meta("a", 13))
        replacement.add(entry(meta("a", 14)))
        assert list(replacement.commit("20")) == [Change(None, meta("a", 14))]
        assert not writer.reader.gone("uid-a")
        indexes_agree(writer.reader)


class TestOddServers:
    """What no server should say must not leave the indexes in disagreement."""

    def test_a_uid_under_a_second_name_leaves_the_first(self) -> None:
        writer = synced(meta("a", 5, uid="u", owner="o1"))
        moved = meta("b", 12, uid="u", owner="o2")
        assert writer.apply(moved, raw(moved)) == Change(None, moved)
        indexes_agree(writer.reader)
        assert [each.name for each in writer.reader.metas()] == ["b"]

    def test_a_list_with_a_uid_twice_still_tells_what_has_gone(self) -> None:
        writer = synced(meta("a", 5, uid="u1"), meta("gone", 6, uid="u2"))
        changes = writer.replace([entry(meta("a", 5, uid="u1")), entry(meta("b", 7, uid="u1"))], "20")
        assert changes == [Change(meta("gone", 6, uid="u2"), None, final_unknown=True)]
        indexes_agree(writer.reader)


class TestSteps:
    def test_a_list_is_compared_in_steps_and_what_is_left_of_them_is_done_at_the_commit(self) -> None:
        metas = [meta(f"n{number}", 5) for number in range(COMPARE_SLICE * 2 + 1)]
        writer = synced(*metas)
        for steps in (0, 1, 2):
            replacement = writer.begin()
            replacement.add(entry(metas[0]))
            comparing = replacement.compare()
            assert [next(comparing) for _ in range(steps)] == [None] * steps
            assert len(writer.reader) == len(metas)
            gone = [change.old for change in replacement.commit("20") if change.new is None]
            assert gone == metas[1:]
            writer.replace([entry(each) for each in metas], "30")

    def test_changes_tell_of_their_list_whatever_happens_to_the_store_meanwhile(self) -> None:
        writer = synced(meta("a", 5), meta("b", 6))
        replacement = writer.begin()
        replacement.add(entry(meta("c", 12)))
        changes = replacement.commit("20")
        writer.delete(meta("c", 21))
        d = meta("d", 22)
        writer.apply(d, raw(d))
        assert list(changes) == [
            Change(meta("a", 5), None, final_unknown=True),
            Change(meta("b", 6), None, final_unknown=True),
            Change(None, meta("c", 12)),
        ]

    def test_of_more_deletions_than_are_remembered_the_last_ones_are(self) -> None:
        writer = synced(*(meta(f"n{number}", 5) for number in range(TOMBSTONES + 2)))
        writer.delete(meta("before", 11))
        writer.replace([], "20")
        assert len(writer.reader._tombstones) == TOMBSTONES
        assert not writer.reader.gone("uid-before")
        assert not writer.reader.gone("uid-n1")
        assert writer.reader.gone("uid-n2")


names = st.sampled_from(["a", "b", "c"])
uids = st.sampled_from(["u1", "u2", "u3", "u4"])
owners = st.sampled_from(["", "o1", "o2"])
steps = st.lists(
    st.tuples(st.sampled_from(["apply", "delete", "relist", "bookmark"]), names, uids, owners), max_size=30
)


def indexes_agree(view: StoreReader) -> None:
    found = list(view.metas())
    assert {each.uid for each in found} == view._names.keys()
    assert all(view.name_of(each.uid) == ObjectName(each.namespace, each.name) for each in found)
    assert not view._names.keys() & view._tombstones.keys()
    for owner in ("o1", "o2"):
        expected = {each.uid for each in found if each.controller and each.controller.uid == owner}
        assert {each.uid for each in view.owned_by(owner)} == expected
    assert len(view._owned) == len({each.controller.uid for each in found if each.controller})


@settings(max_examples=80)
@given(steps)
def test_indexes_agree_with_the_objects_after_any_history_and_changes_retell_it(
    history: list[tuple[str, str, str, str]],
) -> None:
    writer = StoreWriter()
    told: dict[ObjectName, Meta] = {}
    writer.replace([], "1")
    for version, (step, name, uid, owner) in enumerate(history, start=2):
        # A UID belongs to one name, as on a server.
        each = meta(name, version, uid=f"{name}-{uid}", owner=owner)
        changes: list[Change] = []
        if step == "apply":
            changes = [c for c in (writer.apply(each, raw(each)),) if c]
        elif step == "delete":
            changes = [c for c in (writer.delete(each),) if c]
        elif step == "relist":
            changes = writer.replace([entry(each)], str(version))
        else:
            writer.bookmark(str(version))
        for change in changes:
            if change.new is None:
                assert change.old is not None
                assert told.pop(ObjectName(change.old.namespace, change.old.name)) == change.old
            else:
                assert told.get(ObjectName("ns", change.new.name)) == change.old
                told[ObjectName("ns", change.new.name)] = change.new
        assert {ObjectName("ns", m.name): m for m in writer.reader.metas()} == told
        indexes_agree(writer.reader)
