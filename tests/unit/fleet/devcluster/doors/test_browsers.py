from __future__ import annotations

import pytest

from fleet.devcluster.doors.browsers import is_json, is_loopback, refusal


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:8001", "127.0.0.1", "127.0.0.1:8001", "127.3.4.5:1", "[::1]", "[::1]:8001"],
)
def test_requests_to_loopback_are_let_in(host: str) -> None:
    assert refusal({"host": host}) == ""


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8001",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1:8001",
        "0.0.0.0:8001",
        "[fe80::1]:8001",
        "::",
    ],
)
def test_a_name_that_a_page_chose_for_this_machine_is_refused(host: str) -> None:
    assert "is not this machine's loopback" in refusal({"host": host})


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:3000"},
        {"origin": ""},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://localhost:8001", "sec-fetch-site": "cross-site"},
    ],
    ids=str,
)
def test_a_page_of_another_origin_is_refused(headers: dict[str, str]) -> None:
    assert "may not send requests here" in refusal({"host": "localhost:8001", **headers})


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://localhost:8001", "sec-fetch-site": "same-origin"},
        {"origin": "https://localhost:8001"},
        {"sec-fetch-site": "none"},
    ],
    ids=str,
)
def test_its_own_pages_and_typed_addresses_are_let_in(headers: dict[str, str]) -> None:
    assert refusal({"host": "localhost:8001", **headers}) == ""


def test_addresses_of_this_machine_are_known_in_every_form() -> None:
    assert [is_loopback(each) for each in ("127.0.0.1", "::1", "::ffff:127.0.0.1", "localhost")] == [True] * 4
    assert [is_loopback(each) for each in ("0.0.0.0", "::", "192.168.0.1", "localhost.", "")] == [False] * 5


def test_json_is_told_by_its_content_type() -> None:
    assert [is_json(each) for each in ("application/json", "Application/JSON; charset=utf-8")] == [True, True]
    assert [is_json(each) for each in ("", "text/plain", "application/x-www-form-urlencoded")] == [False] * 3
