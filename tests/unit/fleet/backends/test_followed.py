from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.backends.followed import Followed


class Note(NamedTuple):
    """A record of which only the version matters."""

    version: str


def shown(followed: Followed[Note], *names: str) -> list[str]:
    """Versions by name; "" where there is no record."""
    records = (followed.get(name) for name in names)
    return [record.version if record else "" for record in records]


def test_a_late_answer_does_not_bring_an_earlier_version_back() -> None:
    followed: Followed[Note] = Followed()
    followed.progressed("10", lambda name: False)
    assert followed.noted("a", Note("12")) == [Note("12")]
    assert followed.noted("a", Note("11")) == []
    assert followed.watched("a", Note("11"), "11") == []
    assert shown(followed, "a") == ["12"]


def test_versions_are_compared_as_numbers_of_any_length() -> None:
    followed: Followed[Note] = Followed()
    followed.noted("a", Note("9"))
    assert followed.noted("a", Note("10")) == [Note("10")]


def test_an_own_write_is_kept_while_the_watch_deletes_what_was_there_before() -> None:
    followed: Followed[Note] = Followed()
    followed.watched("a", Note("5"), "5")
    followed.progressed("5", lambda name: True)
    followed.noted("a", Note("9"))
    assert followed.watched("a", None, "7") == []
    followed.progressed("7", lambda name: False)
    assert shown(followed, "a") == ["9"]


def test_an_own_write_that_the_watch_never_shows_goes_when_the_watch_is_past_it() -> None:
    followed: Followed[Note] = Followed()
    followed.progressed("5", lambda name: False)
    followed.noted("a", Note("9"))
    assert followed.progressed("8", lambda name: False) == []
    assert followed.progressed("12", lambda name: False) == [Note("9")]
    assert shown(followed, "a") == [""]


def test_a_record_of_a_list_that_the_watch_never_shows_goes_when_the_watch_is_past_it() -> None:
    followed: Followed[Note] = Followed()
    followed.listed({"a": Note("9")}, "10")
    assert followed.progressed("12", lambda name: False) == [Note("9")]


def test_a_list_ends_what_is_not_in_it() -> None:
    followed: Followed[Note] = Followed()
    followed.watched("a", Note("5"), "5")
    followed.progressed("5", lambda name: True)
    assert followed.listed({"b": Note("8")}, "9") == [Note("5"), Note("8")]
    assert shown(followed, "a", "b") == ["", "8"]
    assert followed.watched("a", Note("6"), "6") == []
    assert shown(followed, "a") == [""]


def test_a_list_that_is_older_than_the_watch_changes_nothing() -> None:
    followed: Followed[Note] = Followed()
    followed.watched("a", Note("9"), "9")
    followed.progressed("9", lambda name: True)
    assert followed.listed({"b": Note("4")}, "8") == []
    assert followed.complete == "9"


def test_a_list_that_was_late_does_not_take_an_own_write_back() -> None:
    followed: Followed[Note] = Followed()
    followed.noted("a", Note("12"))
    followed.noted("b", Note("13"))
    assert followed.listed({"a": Note("9")}, "10") == []
    assert shown(followed, "a", "b") == ["12", "13"]


def test_a_watch_may_delete_an_own_write_before_it_says_how_far_it_is() -> None:
    followed: Followed[Note] = Followed()
    followed.noted("a", Note("9"))
    assert followed.watched("a", None, "12") == [Note("9")]
    assert followed.progressed("12", lambda name: False) == []


def test_a_deleted_record_does_not_come_back_by_a_late_read() -> None:
    followed: Followed[Note] = Followed()
    followed.watched("a", Note("5"), "5")
    followed.watched("a", None, "7")
    followed.progressed("7", lambda name: False)
    assert followed.noted("a", Note("6")) == []
    assert shown(followed, "a") == [""]


def test_another_history_replaces_everything() -> None:
    followed: Followed[Note] = Followed()
    followed.watched("a", Note("500"), "500")
    followed.watched("b", Note("501"), "501")
    followed.progressed("501", lambda name: True)
    assert sorted(followed.restarted({"b": Note("40")}, "50")) == [Note("40"), Note("500")]
    assert shown(followed, "a", "b") == ["", "40"]
    assert followed.watched("b", Note("51"), "51") == [Note("51")]


NAMES = ("a", "b", "c")
History = list[tuple[str, bool]]
"""Steps at versions 1, 2, 3 and so on: which name, and whether it is there afterwards."""


def at_version(history: History, version: int) -> dict[str, Note]:
    """What the server holds at that version."""
    found: dict[str, Note] = {}
    for number, (name, present) in enumerate(history[:version], start=1):
        if present:
            found[name] = Note(str(number))
        else:
            found.pop(name, None)
    return found


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), min_size=6, max_size=12),
    st.lists(st.tuples(st.sampled_from(["watch", "list", "note"]), st.integers(1, 12)), min_size=6, max_size=20),
)
def test_whatever_comes_in_whatever_order_no_record_goes_back_and_the_watch_settles_it(
    history: History, deliveries: list[tuple[str, int]]
) -> None:
    followed: Followed[Note] = Followed()
    store: dict[str, Note] = {}
    reached = 0
    known = dict.fromkeys(NAMES, 0)

    def watch_to(version: int) -> None:
        """The watch's cache moves in one step, as by a relist, and tells what became different."""
        nonlocal store
        before, store = store, at_version(history, version)
        for name in NAMES:
            if before.get(name) != store.get(name):
                followed.watched(name, store.get(name), str(version))
        followed.progressed(str(version), lambda name: name in store)

    for kind, number in [*deliveries, ("watch", len(history))]:
        version = min(number, len(history))
        if kind == "watch":
            reached = max(reached, version)
            watch_to(reached)
        elif kind == "list":
            followed.listed(at_version(history, version), str(version))
            for name, note in at_version(history, version).items():
                assert int(shown(followed, name)[0] or len(history)) >= int(note.version)
        else:
            name, present = history[version - 1]
            if present:
                followed.noted(name, Note(str(version)))
        for name in NAMES:
            now = int(shown(followed, name)[0] or 0)
            assert now == 0 or now >= known[name]
            known[name] = max(known[name], now)
    assert {name: followed.get(name) for name in NAMES if followed.get(name)} == at_version(history, len(history))
