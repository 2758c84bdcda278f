"""Kubeconfigs that lead to an embedded server or to a proxy: kubectl reads them too."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import yaml


def kubeconfig_text(
    *urls: str, name: str, token: str = "", authority: Path | None = None, namespace: str = "default"
) -> str:
    """A context for each URL: `name`, `name-2`, `name-3` ...; the first one is current.

    authority: PEM file of the certificate that clients trust, for https.
    """
    trust = {"certificate-authority": str(authority.resolve())} if authority else {}
    names = [name, *(f"{name}-{number}" for number in range(2, len(urls) + 1))]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [
            {"name": each, "cluster": {"server": url, **trust}} for each, url in zip(names, urls, strict=True)
        ],
        "users": [{"name": name, "user": {"token": token} if token else {}}],
        "contexts": [
            {"name": each, "context": {"cluster": each, "user": name, "namespace": namespace}} for each in names
        ],
    }
    return yaml.safe_dump(config, sort_keys=False)


def write_kubeconfig(file: Path, text: str) -> None:
    """At once, so that who waits for the file reads all of it; for its owner only, as it may hold a token.

    A pipe or a device is written to. Raises OSError, and leaves the file as it was.
    """
    if file.exists() and not file.is_file():
        file.write_text(text, encoding="utf-8")
        return
    target = file.resolve()
    handle, made = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as writing:
            writing.write(text)
        os.replace(made, target)
    except BaseException:
        os.unlink(made)
        raise
