from __future__ import annotations

from pathlib import Path

import msgspec

from chaos.targets.journals import entries_in, in_order, notes_below
from fleet.devcluster.recording.journal import Entry
from shards.journal import Note


def write(file: Path, *lines: Note | Entry, rest: bytes = b"") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.Encoder().encode_lines(lines) + rest)


def test_what_the_writer_has_not_written_yet_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "server.jsonl"
    write(file, Entry(1, 1.0, "get", "x"), Entry(2, 2.0, "get", "x"), rest=b'{"seq":3,')
    asked: list[int] = []

    def rest(after: int) -> list[Entry]:
        asked.append(after)
        return [Entry(3, 3.0, "get", "x")]

    assert [each.seq for each in entries_in(file, rest)] == [1, 2, 3]
    assert asked == [2]
    assert [each.seq for each in entries_in(tmp_path / "none", lambda after: [Entry(after + 1, 1.0, "get", "x")])] == [
        1
    ]


def test_lines_of_all_workers_come_in_order_of_time(tmp_path: Path) -> None:
    write(tmp_path / "a-0-1.jsonl", Note("begin", 1.0, "a-0"), Note("step", 2.0, "a-0"), Note("step", 5.0, "a-0"))
    write(tmp_path / "b" / "b-0-1.jsonl", Note("step", 3.0, "b-0"), Note("step", 4.0, "b-0"), rest=b'{"wh')
    write(tmp_path / "c-0-1.jsonl", Note("step", 9.0, "c-0"))
    assert [note.time for note in notes_below(tmp_path)] == [2.0, 2.0, 3.0, 4.0, 5.0, 9.0]


def test_who_waits_for_its_name_to_be_free_tells_nothing_under_it(tmp_path: Path) -> None:
    """Two pods of one name: the first one is alive until 4.0."""
    write(tmp_path / "a-0-1.jsonl", Note("begin", 1.0, "a-0"), Note("step", 1.0, "a-0"), Note("change", 4.0, "a-0"))
    twin = Note("begin", 2.0, "a-0", figures={"wall": 102.0})
    write(
        tmp_path / "a-0-1.2.jsonl", twin, Note("pulse", 3.0, "a-0"), Note("step", 5.0, "a-0"), Note("pulse", 6.0, "a-0")
    )
    found = list(notes_below(tmp_path))
    assert [(note.what, note.time) for note in found] == [
        ("begin", 1.0), ("step", 1.0), ("change", 4.0), ("begin", 5.0), ("step", 5.0), ("pulse", 6.0),
    ]  # fmt: skip
    assert found[3].figures == {"wall": 105.0}


def test_who_ended_before_its_name_was_free_has_told_nothing(tmp_path: Path) -> None:
    write(tmp_path / "a-0-1.jsonl", Note("begin", 1.0, "a-0"), Note("pulse", 3.0, "a-0"), Note("end", 4.0, "a-0"))
    assert list(notes_below(tmp_path)) == []


def test_of_two_lines_at_one_time_the_servers_comes_first() -> None:
    lines = list(in_order([Entry(1, 2.0, "get", "x")], [Note("step", 1.0), Note("step", 2.0)]))
    assert [type(line) for line in lines] == [Note, Entry, Note]
