"""A Website becomes a ConfigMap that holds its page and a Deployment that serves it.

fleet dev docs/examples/websites.py:websites
"""

from shards import Context, Controller, Request, Result

websites = Controller("websites", primary="demo.shardfleet.dev/v1/websites")
websites.owns("v1/configmaps")
websites.owns("apps/v1/deployments")


@websites.reconcile
async def reconcile(ctx: Context, request: Request) -> Result | None:
    site = ctx.store.get()
    if site is None:
        return None  # deleted: the API server removes what it owned
    name, spec, labels = request.name, site["spec"], {"website": request.name}
    page = {"metadata": {"name": name}, "data": {"index.html": spec["html"]}}
    await ctx.client.ensure("v1/configmaps", page)

    mounts = [{"name": "page", "mountPath": "/usr/share/nginx/html"}]
    container = {"name": "web", "image": "nginx:1.29", "volumeMounts": mounts}
    pod = {"containers": [container], "volumes": [{"name": "page", "configMap": {"name": name}}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    wanted = {"replicas": spec["replicas"], "selector": {"matchLabels": labels}, "template": template}
    deployment = await ctx.client.ensure("apps/v1/deployments", {"metadata": {"name": name}, "spec": wanted})

    ready = deployment.get("status", {}).get("readyReplicas", 0)
    await ctx.client.patch_status({"ready": ready, "observedGeneration": site["metadata"]["generation"]})
    return Result(requeue_after_seconds=300)  # look again, whether or not anything changes
