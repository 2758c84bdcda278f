from __future__ import annotations

import json
import urllib.request

from shards.testing.server import EmbeddedServer


def test_the_embedded_server_is_reachable_by_address_and_records_who_asked(embedded: EmbeddedServer) -> None:
    request = urllib.request.Request(
        f"{embedded.url}/api/v1/namespaces/default/configmaps",
        method="POST",
        data=json.dumps({"metadata": {"name": "by-http"}}).encode(),
        headers={
            "Authorization": f"Bearer {embedded.settings.admin_token}",
            "Content-Type": "application/json",
            "User-Agent": "fleet/0 m=a",
        },
    )

    with urllib.request.urlopen(request, timeout=5) as answer:
        created = json.load(answer)

    (entry,) = [entry for entry in embedded.journal() if entry.name == "by-http"]
    assert (entry.verb, entry.uid, entry.user_agent) == ("create", created["metadata"]["uid"], "fleet/0 m=a")
