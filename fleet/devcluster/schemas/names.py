"""The grammar of names: of objects, kinds, labels and finalizers, with the sentences that the real server refuses with.

Pure. After apimachinery pkg/util/validation and pkg/api/validate/content. Every function answers the sentences about
one text; none when it is well formed.
"""

from __future__ import annotations

import re
from functools import lru_cache

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_TEXT = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED_TEXT = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_is_label = re.compile(_LABEL).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN_TEXT).fullmatch
_is_label_1035 = re.compile(_LABEL_1035).fullmatch
_is_qualified = re.compile(_QUALIFIED_TEXT).fullmatch
_is_label_value = re.compile(f"({_QUALIFIED_TEXT})?").fullmatch


def _must(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{each}', " for each in examples[:-1]) + (" or " if len(examples) > 1 else "")
    return f"{rule} (e.g. {shown}'{examples[-1]}', regex used for validation is '{pattern}')"


_LABEL_RULE = _must(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_RULE = _must(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character",
    _SUBDOMAIN_TEXT,
    "example.com",
)
_LABEL_1035_RULE = _must(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _LABEL_1035,
    "my-name",
    "abc-123",
)
_QUALIFIED_RULE = _must(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _QUALIFIED_TEXT,
    "MyName",
    "my.name",
    "123-abc",
)
_LABEL_VALUE_RULE = _must(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character",
    f"({_QUALIFIED_TEXT})?",
    "MyValue",
    "my_value",
    "12345",
)


def subdomain_faults(text: str) -> list[str]:
    """RFC 1123 subdomain: names of most objects, and API groups."""
    found = ["must be no more than 253 characters"] if len(text) > 253 else []
    return found if _is_subdomain(text) else [*found, _SUBDOMAIN_RULE]


def label_faults(text: str) -> list[str]:
    """RFC 1123 label: names of namespaces."""
    found = ["must be no more than 63 characters"] if len(text) > 63 else []
    if _is_label(text):
        return found
    return [*found, "must not contain dots" if _is_subdomain(text) else _LABEL_RULE]


def dns1035_faults(text: str) -> list[str]:
    """DNS-1035 label: kinds in lower case, plurals, versions."""
    found = ["must be no more than 63 characters"] if len(text) > 63 else []
    return found if _is_label_1035(text) else [*found, _LABEL_1035_RULE]


def path_segment_faults(text: str, *, prefix: bool = False) -> list[str]:
    """Anything that can stand in a path: names of roles, and of embedded objects."""
    if not prefix and text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{each}'" for each in ("/", "%") if each in text]


@lru_cache(maxsize=4096)
def qualified_faults(text: str) -> tuple[str, ...]:
    """Keys of labels and annotations, and finalizers: a name with an optional subdomain before a slash."""
    parts = text.split("/")
    if len(parts) > 2:
        tail = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_QUALIFIED_RULE}{tail}",)
    found: list[str] = []
    if len(parts) == 2:
        if not parts[0]:
            found.append("prefix part must be non-empty")
        else:
            found += [f"prefix part {each}" for each in subdomain_faults(parts[0])]
    name = parts[-1]
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > 63:
        found.append("name part must be no more than 63 bytes")
    if not _is_qualified(name):
        found.append(f"name part {_QUALIFIED_RULE}")
    return tuple(found)


@lru_cache(maxsize=4096)
def label_value_faults(text: str) -> tuple[str, ...]:
    found = ("must be no more than 63 bytes",) if len(text) > 63 else ()
    return found if _is_label_value(text) else (*found, _LABEL_VALUE_RULE)
