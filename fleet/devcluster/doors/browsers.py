"""Keeps web pages away from doors that act for whoever runs them: the control endpoint and the fault proxy.

A browser on the same machine reaches every loopback port, and what it sends was thought of by whichever page is open in
it. A page gives itself away: by the name that it used for this machine (DNS rebinding), or by the Origin and the
Sec-Fetch-Site that its browser adds and that a page cannot leave out. Pure.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

_OWN_PAGES = ("same-origin", "none")
"""Values of Sec-Fetch-Site: a page of this very door, or somebody who typed the address."""


def refusal(headers: Mapping[str, str]) -> str:
    """Why a request is refused; "" for one that no page of another origin can have sent.

    headers: of the request; a mapping that does not care about case, or one in lower case.
    """
    host = headers.get("host", "")
    if not is_loopback(_without_port(host)):
        return f"the Host {host!r} is not this machine's loopback: write localhost, 127.0.0.1 or [::1]"
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
        return f"pages of the Origin {origin!r} may not send requests here"
    site = headers.get("sec-fetch-site")
    if site is not None and site not in _OWN_PAGES:
        return f"pages of other sites may not send requests here (Sec-Fetch-Site: {site})"
    return ""


def is_loopback(host: str) -> bool:
    """host: a name or an address, without brackets and port. Of names, localhost alone: others may lead anywhere."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def is_json(content_type: str) -> bool:
    """Whether a body says that it is JSON: what a page cannot send elsewhere without asking first (CORS)."""
    return content_type.partition(";")[0].strip().lower() == "application/json"


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
