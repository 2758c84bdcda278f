"""What is in the server, and what of it is not as the specs say."""

from __future__ import annotations

from chaos.simulation.stack.cloud import Cloud
from chaos.simulation.stack.demo import FINALIZER, NAMESPACE, PAGES, SITES
from fleet.devcluster.server import ApiServer
from fleet.devcluster.storage.tables import Table
from shards.objects import SLOT_LABEL, Object, Resource


class Truth:
    """Reads the storage itself: nothing is recorded."""

    def __init__(self, server: ApiServer, cloud: Cloud) -> None:
        self._server = server
        self._cloud = cloud
        self.restored = False
        """Whether it went back: what was rented for a site that has never been is known to nobody."""

    def get(self, resource: Resource, name: str) -> Object | None:
        stored = self.table(resource).objects.get(f"{NAMESPACE}/{name}")
        return None if stored is None else stored.decode()

    def sites(self) -> list[Object]:
        return self.of(SITES)

    def pages(self, uid: str) -> list[Object]:
        """Of a site."""
        return [
            each
            for each in self.of(PAGES)
            if any(owner["uid"] == uid for owner in each["metadata"].get("ownerReferences") or ())
        ]

    def of(self, resource: Resource) -> list[Object]:
        return [each.decode() for each in self.table(resource).scan(f"{NAMESPACE}/")]

    def table(self, resource: Resource) -> Table:
        kind = self._server.registry.get(resource)
        assert kind is not None, resource
        return self._server.storage.table(kind)

    def undesired(self) -> str:
        """What is not as the specs say; "" when all is."""
        sites = self.sites()
        of_owner: dict[str, list[Object]] = {}
        for page in self.of(PAGES):
            for owner in page["metadata"].get("ownerReferences") or ():
                of_owner.setdefault(owner["uid"], []).append(page)
        for site in sites:
            if wrong := self._wrong(site, of_owner.pop(site["metadata"]["uid"], [])):
                return wrong
        for pages in of_owner.values():
            return f"{pages[0]['metadata']['name']} is a page of a site that is gone"
        paid = {site["metadata"]["uid"]: site for site in sites}
        for uid in [] if self.restored else sorted(self._cloud.rented - paid.keys()):
            return f"the address of {uid} was never given back"
        return ""

    def _wrong(self, site: Object, pages: list[Object]) -> str:
        name, spec, metadata = site["metadata"]["name"], site["spec"], site["metadata"]
        if metadata.get("deletionTimestamp"):
            return f"{name} is being deleted still"
        if wrong := unlike_spec(site, pages):
            return wrong
        rented = metadata["uid"] in self._cloud.rented
        if spec["mode"] == "rented" and not (rented and FINALIZER in metadata.get("finalizers", ())):
            return f"{name} has no address"
        return ""


def unlike_spec(site: Object, pages: list[Object]) -> str:
    """What of a site's status, or of the pages that it owns, is not as its spec says; "" when all is."""
    name, spec = site["metadata"]["name"], site["spec"]
    wanted = {f"{name}-{index}" for index in range(spec["pages"])}
    # What lost its label and is not wanted any more can be found by nobody.
    pages = [each for each in pages if labelled(each) or each["metadata"]["name"] in wanted]
    status = site.get("status") or {}
    if not all(map(labelled, pages)):
        return f"{name} has a page that no view shows"
    if status.get("pages") != spec["pages"] or status.get("text") != spec["text"]:
        return f"{name}: the status is {status}, the spec {spec}"
    if len(pages) != spec["pages"]:
        return f"{name} has {len(pages)} pages, the spec says {spec}"
    if spec["mode"] != "generate" and any(page.get("data") != {"text": spec["text"]} for page in pages):
        return f"{name}: a page has another text than {spec}"
    return ""


def labelled(page: Object) -> bool:
    """Whether views that are filtered by the slot label show it."""
    return SLOT_LABEL in (page["metadata"].get("labels") or {})
