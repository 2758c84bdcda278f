"""The kopf peer: an in-memory index as the cache, raw event handlers as the no-op reconciler,
a creation handler for the real work, peering for the failover.

Run with `python peer_kopf.py`; it embeds the operator so that the protocol's signals work.
Settings stay at kopf's defaults, except where an environment variable says otherwise:
KOPF_STREAMING=1 lists through the watch, KOPF_UVLOOP=1 takes uvloop, KOPF_INDEX=0 keeps no cache.
"""

import asyncio
import os
import ssl

import aiohttp
import kopf
import protocol as p

p.mark("start")
book = p.Book(p.N)
state = {"synced": False}


@kopf.on.startup()
async def startup(settings, memo, **_):
    settings.watching.initial_streaming = os.environ.get("KOPF_STREAMING") == "1"
    settings.peering.clusterwide = True
    if p.WORKLOAD == "work":
        authority, token = os.environ.get("CA_FILE"), os.environ.get("TOKEN")
        memo.http = aiohttp.ClientSession(
            os.environ["SERVER"],
            headers={"Authorization": "Bearer " + token} if token else {},
            connector=aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=authority) if authority else True),
        )


@kopf.on.cleanup()
async def cleanup(memo, **_):
    if "http" in memo:
        await memo.http.close()
    p.mark("stopped")


@kopf.on.login()
def login(**kwargs):
    return kopf.login_with_kubeconfig(**kwargs)


if p.WORKLOAD == "work":

    @kopf.on.create(p.GROUP, p.VERSION, p.PLURAL)
    async def create(namespace, name, uid, memo, patch, **_):
        book.hit()
        url = f"/api/v1/namespaces/{namespace}/configmaps"
        async with memo.http.post(url, json=p.child(namespace, name, uid)) as r:
            if r.status not in (201, 409):
                raise kopf.TemporaryError(await r.text(), delay=1)
        patch.status["phase"] = "Ready"

else:
    if os.environ.get("KOPF_INDEX", "1") == "1":

        @kopf.index(p.GROUP, p.VERSION, p.PLURAL)
        async def cache(namespace, name, body, **_):
            return {(namespace, name): dict(body)}

    @kopf.on.event(p.GROUP, p.VERSION, p.PLURAL)
    async def event(namespace, name, body, **kwargs):
        if "cache" in kwargs:
            body = next(iter(kwargs["cache"][namespace, name]))
        book.see((namespace, name), (body["metadata"].get("annotations") or {}).get(p.STAMP))
        if not state["synced"]:
            # Handlers start only after the index has seen every listed object.
            state["synced"] = True
            p.mark("leading" if p.WORKLOAD == "failover" else "synced", count=len(kwargs.get("cache", ())))
        book.hit()


def main():
    options = {"clusterwide": True}
    if p.WORKLOAD == "failover":
        options.update(peering_name=os.environ["LEASE_NAME"], priority=int(os.environ.get("PRIORITY") or 0))
    else:
        options.update(standalone=True)
    p.signals(book)
    if os.environ.get("KOPF_UVLOOP") == "1":
        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(kopf.operator(**options))
    else:
        asyncio.run(kopf.operator(**options))


main()
