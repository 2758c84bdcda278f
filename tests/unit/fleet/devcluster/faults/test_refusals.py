from __future__ import annotations

import msgspec
import pytest

from fleet.devcluster.faults.match import Asked, version_in
from fleet.devcluster.faults.refusals import expired_line, too_large, truncated
from fleet.devcluster.faults.words import TooLarge
from fleet.devcluster.wire.requests import Request

ODD = ["²", "-1", "1.0", "", "9" * 5000, "x"]


@pytest.mark.parametrize("field", ["items", "rows"])
def test_a_list_and_the_table_of_one_lose_their_end(field: str) -> None:
    metadata = {"resourceVersion": "7", "continue": "more", "remainingItemCount": 5}
    body = msgspec.json.encode({"metadata": metadata, field: [1, 2, 3]})
    shorter = msgspec.json.decode(truncated(body, 2) or b"")
    assert shorter == {"metadata": {"resourceVersion": "7"}, field: [1, 2]}


@pytest.mark.parametrize("body", [b'{"metadata":{},"items":[1,2]}', b'{"kind":"Pod"}', b"no json", b""])
def test_what_is_no_longer_list_stays(body: bytes) -> None:
    assert truncated(body, 2) is None


@pytest.mark.parametrize("text", ODD)
def test_what_is_no_version_is_none(text: str) -> None:
    assert version_in(text) == 0
    asked = Asked(Request("GET", "/api/v1/pods", [("resourceVersion", text)]))
    assert msgspec.json.decode(expired_line(asked))["object"]["code"] == 410
    assert too_large(TooLarge(), asked).status == 504


def test_a_version_is_a_number_up_to_the_longest_that_servers_write() -> None:
    assert version_in(str(2**128 - 1)) == 2**128 - 1
