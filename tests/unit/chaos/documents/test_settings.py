from __future__ import annotations

from typing import Any

import pytest

from chaos.documents.settings import parse_settings
from shards.errors import ConfigError


def test_a_fleet_is_an_ordinary_one_where_nothing_is_said() -> None:
    found = parse_settings({}, "target")
    assert (found.own_server, found.token_file, found.front_ends) == (False, False, 1)


def test_what_the_server_and_the_credential_are_to_be_is_said() -> None:
    found = parse_settings({"ownServer": True, "tokenFile": True, "frontEnds": 2}, "target")
    assert (found.own_server, found.token_file, found.front_ends) == (True, True, 2)


@pytest.mark.parametrize("value", [1, "yes", None])
def test_a_switch_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"target.ownServer: .* write true or false"):
        parse_settings({"ownServer": value}, "target")
