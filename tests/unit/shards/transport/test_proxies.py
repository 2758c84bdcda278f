"""Which proxy stands before an API server."""

from __future__ import annotations

import pytest

from shards.errors import ConfigError
from shards.transport.proxies import proxy_for

SERVER = "https://api.example.com:6443"
PROXY = {"HTTPS_PROXY": "http://proxy:3128", "HTTP_PROXY": "http://plain:3128"}


def test_the_variable_of_the_servers_scheme_counts_in_either_case() -> None:
    assert proxy_for(SERVER, PROXY) == "http://proxy:3128"
    assert proxy_for("http://api.example.com", PROXY) == "http://plain:3128"
    assert proxy_for(SERVER, {"https_proxy": "http://lower:1"}) == "http://lower:1"
    assert proxy_for(SERVER, {"HTTPS_PROXY": ""}) is None
    assert proxy_for(SERVER, {}) is None


def test_one_without_a_scheme_is_http() -> None:
    assert proxy_for(SERVER, {"HTTPS_PROXY": "proxy:3128"}) == "http://proxy:3128"


@pytest.mark.parametrize(
    "excluded",
    [
        *(
            "*",
            "api.example.com",
            "example.com",
            ".example.com",
            "*.example.com",
            "API.Example.com",
            "other, example.com ",
        ),
        *("api.example.com:6443", ".example.com:6443"),
    ],
)
def test_a_name_that_is_excluded_is_reached_directly(excluded: str) -> None:
    assert proxy_for(SERVER, {**PROXY, "NO_PROXY": excluded}) is None
    assert proxy_for(SERVER, {**PROXY, "no_proxy": excluded}) is None


@pytest.mark.parametrize("excluded", ["ample.com", "api.example.com:443", ".api.example.com", "10.0.0.0/8", "x/y", ","])
def test_another_name_is_not(excluded: str) -> None:
    assert proxy_for(SERVER, {**PROXY, "NO_PROXY": excluded}) is not None


@pytest.mark.parametrize(
    ("host", "excluded"),
    [
        ("https://10.1.2.3:443", "10.0.0.0/8"),
        ("https://10.1.2.3:443", "10.1.2.3"),
        ("https://10.1.2.3", "10.1.2.3:443"),
        ("https://[fd00::1]:6443", "fd00::/8"),
        ("https://[fd00::1]:6443", "fd00:0::1"),
        ("https://[fd00::1]:6443", "[fd00::1]:6443"),
    ],
)
def test_an_address_is_excluded_by_itself_and_by_its_network(host: str, excluded: str) -> None:
    assert proxy_for(host, {**PROXY, "NO_PROXY": excluded}) is None
    assert proxy_for("https://192.168.0.1", {**PROXY, "NO_PROXY": excluded}) is not None


@pytest.mark.parametrize("host", ["https://localhost:1", "https://127.0.0.9", "https://[::1]:6443"])
def test_loopback_is_never_reached_through_a_proxy(host: str) -> None:
    assert proxy_for(host, PROXY) is None


def test_a_kind_of_proxy_that_is_not_spoken_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="HTTPS_PROXY: proxies of kind 'socks5' are not supported"):
        proxy_for(SERVER, {"HTTPS_PROXY": "socks5://proxy:1080"})
