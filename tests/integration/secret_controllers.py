"""Controllers that do with Secrets whatever makes a program tell more than it should, each to the site of that name.

Every Secret holds the word that no log may show. It comes from the environment: a traceback shows lines of this file.
"""

from __future__ import annotations

import asyncio
import os
import time
from base64 import b64decode
from enum import Enum
from typing import Any

import msgspec

from shards import Context, Controller, NotReadyYet, Request, Result, TerminalError
from shards.objects import Meta, Object
from shards.stores.indexes import Index

SECRETS = "v1/secrets"

SITES = (
    "raises",
    "parses",
    "chains",
    "groups",
    "holds",
    "terminal",
    "waits",
    "logs",
    "decodes",
    "refused",
    "invents",
    "looks",
    "hangs",
    "blocks",
)
"""One for each thing that a reconcile does with the word."""


class Kind(Enum):
    GOOD = "good"


class Typed(msgspec.Struct):
    """What the value of a Secret is not."""

    data: dict[str, Kind]


def value_of(secret: Object | None) -> str:
    return b64decode((secret or {"data": {"word": ""}})["data"]["word"]).decode()


class Broken(Exception):
    """Tells what it holds, whatever its arguments are."""

    def __init__(self, value: str) -> None:
        super().__init__()
        self.value = value

    def __str__(self) -> str:
        return f"cannot use {self.value}"


def raises(body: Object) -> Any:
    raise ValueError(f"cannot use {body.get('data')} {value_of(body) if 'data' in body else ''}")


def to_nobody(meta: Meta) -> list[str]:
    raise KeyError(meta.name)


def broken_index(meta: Meta) -> tuple[str, ...]:
    raise ValueError(meta.name)


websites = (
    Controller("websites", primary="demo.shardfleet.dev/v1/websites", reconcile_timeout_seconds=3)
    .owns(SECRETS)
    .owns("v1/configmaps")
)
secrets = Controller("secrets", primary=SECRETS, transform=raises, indexes=[Index("broken", broken_index)])


@secrets.reconcile
async def reconcile_secret(ctx: Context, request: Request) -> Result | None:
    secret = await ctx.live.get(SECRETS, request.name)
    if secret is not None and "word" in (secret.get("data") or {}):
        ctx.log.warning("now it is %r", value_of(secret))
        raise RuntimeError(f"no: {value_of(secret)}")
    return None


@websites.reconcile
async def reconcile(ctx: Context, request: Request) -> Result | None:
    site = ctx.store.get()
    if site is None:
        return None
    found = ctx.store.get(SECRETS, f"{request.name}-word")
    if found is None:
        found = await ctx.client.ensure(SECRETS, secret(f"{request.name}-word", {"word": os.environ["CANARY"]}))
    await act(ctx, request.name, value_of(found))
    return Result(requeue_after_seconds=1.0)


def secret(name: str, values: dict[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values}


def block() -> None:
    time.sleep(1.5)


async def act(ctx: Context, name: str, word: str) -> None:
    match name:
        case "raises":
            raise ValueError(f"cannot use {word}")
        case "parses":
            int(word)
        case "chains":
            raise RuntimeError("in other words") from KeyError(word)
        case "groups":
            raise ExceptionGroup(word, [ValueError(word)])
        case "holds":
            raise Broken(word)
        case "terminal":
            raise TerminalError(f"{word} is too short")
        case "waits":
            raise NotReadyYet(f"until somebody takes {word}")
        case "logs":
            ctx.log.warning("the word is %s", word)
            ctx.log.error("%s", {"word": word}, exc_info=ValueError(word))
        case "decodes":
            ctx.store.get_as(Typed, SECRETS, f"{name}-word")
        case "refused":
            await ctx.client.patch("demo.shardfleet.dev/v1/websites", name, {"spec": {"replicas": word}})
        case "invents":
            # Refused: no key of a Secret has blanks in it.
            await ctx.client.ensure(SECRETS, secret("invented", {f"no {word}": word}))
        case "looks":
            found = await ctx.live.get(SECRETS, f"{name}-word")
            raise ValueError(found)
        case "hangs":
            await asyncio.sleep(60)
        case "blocks":
            block()
