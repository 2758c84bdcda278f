from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fleet.configuration.config_file import parse_config
from fleet.configuration.config_text import edited
from shards.errors import ConfigError

HEAD = "fleet: web\ncontroller: websites:app\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "# Ours.\nfleet: web   # the name\ncontroller: websites:app\nshards:\n    count: 16   # enough\n"
            "    partitionBy: uid\nlog: {level: info}\n",
            "# Ours.\nfleet: web   # the name\ncontroller: websites:app\nshards:\n    count: 64   # enough\n"
            "    partitionBy: uid\nlog: {level: info}\n",
        ),
        (HEAD + "shards: {count: 16, partitionBy: uid}\n", HEAD + "shards: {count: 64, partitionBy: uid}\n"),
        (HEAD + "shards: {partitionBy: uid}  # x\n", HEAD + "shards: {count: 64, partitionBy: uid}  # x\n"),
        (HEAD + "shards: {}\n", HEAD + "shards: {count: 64}\n"),
        (
            HEAD + "shards:\n  # how many?\n  partitionBy: uid\n",
            HEAD + "shards:\n  # how many?\n  count: 64\n  partitionBy: uid\n",
        ),
        (HEAD, "shards:\n  count: 64\n" + HEAD),
        ("# Ours.\n---\n" + HEAD, "# Ours.\n---\nshards:\n  count: 64\n" + HEAD),
        ("{fleet: web, controller: 'websites:app'}", "{shards: {count: 64}, fleet: web, controller: 'websites:app'}"),
        (
            '{"fleet": "web", "controller": "a:b", "shards": {"count": 2}}',
            '{"fleet": "web", "controller": "a:b", "shards": {"count": 64}}',
        ),
        (HEAD + "shards:\n  count:\n    16\n", HEAD + "shards:\n  count:\n    64\n"),
        (
            HEAD.replace("\n", "\r\n") + "shards:\r\n  count: 16\r\n",
            HEAD.replace("\n", "\r\n") + "shards:\r\n  count: 64\r\n",
        ),
        (
            "x-note: 'ä'\n".replace("x-note: 'ä'\n", "# ä €\n") + HEAD + "shards: {count: 1}\n",
            "# ä €\n" + HEAD + "shards: {count: 64}\n",
        ),
    ],
)
def test_one_field_changes_and_everything_else_stays_to_the_letter(before: str, after: str) -> None:
    assert edited(before, "shards", {"count": 64}) == after


def test_several_fields_change_at_once() -> None:
    found = parse_config(edited(HEAD, "shards", {"count": 3, "partitionBy": "name"})).shards
    assert (found.count, found.partition_by) == (3, "name")


@pytest.mark.parametrize(
    ("text", "values", "why"),
    [
        (HEAD + "shards: {count: &n 16}\nworkers: {perPod: *n}\n", {"count": 3}, None),
        (HEAD + "workers: {perPod: &n 16}\nshards: {count: *n}\n", {"count": 3}, r"shards.count: .* it is an alias"),
        (HEAD, {"count": 0}, r"shards.count: 0 is out of bounds"),
        (HEAD, {"partitionBy": "colour"}, r"shards.partitionBy"),
        ("fleet: [", {"count": 3}, r"not valid YAML"),
        ("", {"count": 3}, r"must be a mapping"),
    ],
)
def test_what_a_command_cannot_change_is_refused_in_one_sentence(
    text: str, values: dict[str, int | str], why: str | None
) -> None:
    if why is None:
        with pytest.raises(ConfigError):
            edited(text, "shards", values)
        return
    with pytest.raises(ConfigError, match=why):
        edited(text, "shards", values)


@given(
    st.integers(1, 4096),
    st.sampled_from(["", "shards: {count: 7}\n", "shards:\n  partitionBy: name\n", "log: {level: info}\n"]),
    st.booleans(),
)
def test_the_text_says_what_was_asked_for_and_the_rest_as_before(count: int, rest: str, flow: bool) -> None:
    text = HEAD + rest
    if flow:
        text = yaml.safe_dump(yaml.safe_load(text), default_flow_style=True)
    before, after = parse_config(text), parse_config(edited(text, "shards", {"count": count}))
    assert after.shards.count == count
    assert after.shards.partition_by == before.shards.partition_by
    assert after.log == before.log
