"""The text of the quarantine document, and how it changes."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from fleet.records.quarantine import (
    FORGOTTEN_SECONDS,
    MOST_KEYS,
    Quarantine,
    QuarantineEntry,
    QuarantineUnreadable,
    parse_quarantine,
    quarantine_text,
)
from shards.objects import Key
from shards.queue.suspects import DEATHS

SHOP = Key("team-a", "shop", "u-1")
NOW = 1_764_500_000


def seen(key: Key = SHOP, *, at: int = NOW, revision: str = "r1", generation: int = 1) -> QuarantineEntry:
    return QuarantineEntry(
        "websites",
        key,
        last=at,
        ended="SIGSEGV",
        words="",
        worker="web-0-1",
        generation=generation,
        revisions=(revision,),
    )


def died(times: int, key: Key = SHOP, quarantine: Quarantine | None = None, *, at: int = NOW) -> Quarantine:
    found = quarantine or Quarantine()
    for _ in range(times):
        found = found.died(seen(key, at=at))
    return found


class TestText:
    def test_what_is_written_is_read_back(self) -> None:
        written = died(2, Key("", "root", "u-2"), died(3))
        assert parse_quarantine(quarantine_text(written)) == written

    def test_fields_that_nobody_knows_here_are_kept(self) -> None:
        text = (
            '{"later": [1], "keys": [{"controller": "websites", "name": "a", "uid": "u", "deaths": 2, "note": "hm"}]}'
        )
        found = parse_quarantine(text).died(seen(Key("", "a", "u")))
        body = msgspec.json.decode(quarantine_text(found))
        assert (body["later"], body["keys"][0]["note"], body["keys"][0]["deaths"]) == ([1], "hm", 3)

    @pytest.mark.parametrize("text", ["", " \n", "{}", '{"keys": null}'])
    def test_nothing_is_no_key(self, text: str) -> None:
        assert parse_quarantine(text) == Quarantine()

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("[]", "not a JSON object"),
            ("{", "not a JSON object"),
            ('{"keys": {}}', "keys: write a list"),
            ('{"keys": [3]}', r"keys\[0\]: write an object"),
            ('{"keys": [{"deaths": "3"}]}', r"keys\[0\]\.deaths: write a whole number"),
            ('{"keys": [{"deaths": true}]}', r"keys\[0\]\.deaths"),
            ('{"keys": [{"deaths": -1}]}', r"keys\[0\]\.deaths"),
            ('{"keys": [{"name": 3}]}', r"keys\[0\]\.name: write a text"),
            ('{"keys": [{"revisions": "r"}]}', r"keys\[0\]\.revisions: write a list"),
        ],
    )
    def test_what_cannot_be_read_is_named(self, text: str, says: str) -> None:
        with pytest.raises(QuarantineUnreadable, match=says):
            parse_quarantine(text)


class TestDeaths:
    def test_each_counts_wherever_it_was_and_the_last_one_is_told_of(self) -> None:
        found = died(1).died(seen(at=NOW + 5, generation=2)).died(seen(at=NOW + 9, revision="r2", generation=2))
        entry = found.entries["websites", SHOP]
        assert (entry.deaths, entry.since, entry.last, entry.generation) == (3, NOW, NOW + 9, 2)
        assert entry.revisions == ("r1", "r2")
        assert entry.quarantined

    def test_one_that_is_told_of_twice_counts_once(self) -> None:
        one = replace(seen(), counted=("w#1",))
        found = Quarantine().died(one).died(replace(seen(), counted=("w#2",))).died(one)
        assert found.entries["websites", SHOP].deaths == 2

    def test_two_are_a_suspicion(self) -> None:
        assert not died(2).entries["websites", SHOP].quarantined

    def test_a_run_that_ended_clears_the_key_unless_it_has_died_since(self) -> None:
        assert died(2).cleared(("websites", SHOP), 2) == Quarantine()
        assert died(3).cleared(("websites", SHOP), 2) == died(3)
        assert Quarantine().cleared(("websites", SHOP), 2) == Quarantine()

    def test_a_key_that_is_tried_again_has_one_death_left(self) -> None:
        again = died(3).tried_again(("websites", SHOP), generation=7, revision="r2")
        entry = again.entries["websites", SHOP]
        assert (entry.deaths, entry.generation, entry.revisions) == (DEATHS - 1, 7, ("r1", "r2"))
        assert again.died(seen()).entries["websites", SHOP].quarantined

    def test_one_that_is_not_quarantined_runs_anyway(self) -> None:
        assert died(1).tried_again(("websites", SHOP)) == died(1)
        assert Quarantine().tried_again(("websites", SHOP)) == Quarantine()


class TestBound:
    def test_suspects_make_room_and_quarantined_keys_never_do(self) -> None:
        found = died(3, Key("n", "bad", "u-bad"), at=NOW - 10 * FORGOTTEN_SECONDS)
        for number in range(MOST_KEYS + 5):
            found = died(1, Key("n", f"k{number}", f"u{number}"), found, at=NOW + number)
        kept = found.bounded(NOW + MOST_KEYS)
        assert len(kept.entries) == MOST_KEYS
        assert ("websites", Key("n", "bad", "u-bad")) in kept.entries
        assert ("websites", Key("n", "k0", "u0")) not in kept.entries
        assert ("websites", Key("n", f"k{MOST_KEYS + 4}", f"u{MOST_KEYS + 4}")) in kept.entries

    def test_a_full_quarantine_lets_nobody_go(self) -> None:
        found = Quarantine()
        for number in range(MOST_KEYS + 1):
            found = died(3, Key("n", f"k{number}", f"u{number}"), found, at=NOW + number)
        kept = found.bounded(NOW)
        assert len(kept.entries) == MOST_KEYS
        assert ("websites", Key("n", f"k{MOST_KEYS}", f"u{MOST_KEYS}")) not in kept.entries

    def test_a_suspect_that_nobody_has_run_for_a_day_is_forgotten(self) -> None:
        assert died(2).bounded(NOW + FORGOTTEN_SECONDS) == Quarantine()
        assert died(2).bounded(NOW + FORGOTTEN_SECONDS - 1) == died(2)
        assert died(3).bounded(NOW + FORGOTTEN_SECONDS) == died(3)

    def test_the_longest_document_fits_into_a_config_map(self) -> None:
        longest = QuarantineEntry(
            "c" * 63,
            Key("n" * 63, "o" * 253, "u" * 36),
            3,
            NOW,
            NOW,
            "exit code 79",
            "w" * 1000,
            "m" * 63,
            1,
            ("r" * 63,) * 8,
            ("s" * 60,) * 4,
        )
        entries = {("c" * 63, Key("n" * 63, f"{n:0253}", "u" * 36)): longest for n in range(MOST_KEYS)}
        assert len(quarantine_text(Quarantine(entries))) < 2**20
