"""Which HTTP proxy stands before an API server: $HTTPS_PROXY, $HTTP_PROXY and $NO_PROXY as Go programs read them."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from shards.errors import ConfigError


def proxy_for(host: str, environ: Mapping[str, str]) -> str | None:
    """The URL of the proxy for that server, or None. host: its URL.

    Never for loopback and for what $NO_PROXY names: "*", host names with all below them, those only below them
    (".example.com"), addresses, networks ("10.0.0.0/8"), each with a port or without. Raises ConfigError.
    """
    server = urlsplit(host)
    variable = "HTTPS_PROXY" if server.scheme == "https" else "HTTP_PROXY"
    proxy = environ.get(variable) or environ.get(variable.lower()) or ""
    if not proxy or _loopback(server.hostname or "") or _excluded(server, environ):
        return None
    return usable(proxy if "://" in proxy else f"http://{proxy}", variable)


def usable(proxy: str, where: str) -> str:
    """The URL itself. where: what named it. Raises ConfigError for a kind of proxy that is not spoken here."""
    scheme = proxy.partition("://")[0]
    if scheme not in ("http", "https"):
        raise ConfigError(where, f"proxies of kind {scheme!r} are not supported; name one with http:// or https://")
    return proxy


def _excluded(server: SplitResult, environ: Mapping[str, str]) -> bool:
    excluded = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    name = (server.hostname or "").lower()
    port = server.port or (443 if server.scheme == "https" else 80)
    return any(_names(entry.strip().lower(), name, port) for entry in excluded.split(",") if entry.strip())


def _names(entry: str, name: str, port: int) -> bool:
    if entry == "*":
        return True
    address = _address(name)
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    entry, found = _without_port(entry)
    if found and found != str(port):
        return False
    if address is not None:
        return _address(entry) == address
    entry = entry.removeprefix("*")
    return name.endswith(entry) if entry.startswith(".") else name == entry or name.endswith(f".{entry}")


def _without_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        inner, _, rest = entry[1:].partition("]")
        return inner, rest.removeprefix(":")
    name, colon, port = entry.rpartition(":")
    return (name, port) if colon and ":" not in name else (entry, "")


def _loopback(name: str) -> bool:
    address = _address(name)
    return name == "localhost" or (address is not None and address.is_loopback)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return None
