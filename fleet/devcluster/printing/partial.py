"""PartialObjectMetadata and its list: objects without anything but their metadata. Pure; metadata is never decoded."""

from __future__ import annotations

import msgspec

_NOTHING = msgspec.Raw(b"{}")


class Envelope(msgspec.Struct):
    """An object, a list or a Status, as far as its representation needs it. items: empty where there are none."""

    kind: str = ""
    metadata: msgspec.Raw = _NOTHING
    items: msgspec.Raw = msgspec.Raw()


class _Item(msgspec.Struct):
    metadata: msgspec.Raw = _NOTHING


class _ListMetadata(msgspec.Struct, omit_defaults=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


envelopes = msgspec.json.Decoder(Envelope)
_items = msgspec.json.Decoder(list[_Item] | None)
_list_metadata = msgspec.json.Decoder(_ListMetadata)


def partial_object(metadata: msgspec.Raw, version: str) -> bytes:
    """version: "meta.k8s.io/v1" or its beta."""
    head = f'{{"kind":"PartialObjectMetadata","apiVersion":"{version}","metadata":'
    return head.encode() + bytes(metadata) + b"}"


def partial_list(envelope: Envelope, version: str) -> bytes:
    """An empty list has items null, as the real server writes it."""
    items = _items.decode(envelope.items) or []
    metadata = msgspec.json.encode(_list_metadata.decode(envelope.metadata))
    shown = b"[" + b",".join(partial_object(each.metadata, version) for each in items) + b"]" if items else b"null"
    head = f'{{"kind":"PartialObjectMetadataList","apiVersion":"{version}","metadata":'
    return head.encode() + metadata + b',"items":' + shown + b"}"
