from __future__ import annotations

import pytest

from fleet.devcluster.schemas.formats import FORMATS, supported

GOOD = {
    "datetime": "2026-01-01T00:00:00.5+01:00",
    "date": "2026-02-28",
    "duration": "1h30m",
    "uuid": "0F8FAD5B-d9cb-469f-a165-70867728950e",
    "ipv4": "10.0.0.1",
    "ipv6": "::1",
    "cidr": "10.0.0.0/8",
    "byte": "YQ==",
    "hostname": "example.com",
    "email": "a@b.example",
    "uri": "https://example.com/x",
    "mac": "00:00:5e:00:53:01",
    "isbn10": "0321751043",
    "isbn13": "978-0321751041",
    "creditcard": "4111 1111 1111 1111",
    "ssn": "123-45-6789",
    "hexcolor": "#fff",
    "rgbcolor": "rgb(255,0,1)",
    "k8sshortname": "abc",
    "k8slongname": "a.b",
}


@pytest.mark.parametrize(("name", "text"), GOOD.items())
def test_a_format_takes_its_own_and_not_just_anything(name: str, text: str) -> None:
    assert FORMATS[name](text)
    assert not FORMATS[name]("-!-")


def test_formats_belong_to_types() -> None:
    assert supported("string", "date-time")
    assert not supported("string", "int32")
    assert supported("integer", "int32")
    assert not supported("object", "date")
