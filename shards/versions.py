"""Resource versions: how new an object, a list or a view is. PURE.

Decimal text of any length (KEP-5504): the longer one is newer, and of two that are equally long the one that sorts
later. They compare within one resource of one server, and within one history of it: what a restored server gives out
again means something else. `Version` knows its resource, for code in which versions of several resources meet; the
functions take the text alone, for code that sees one collection.

Aggregated APIs may have versions of another form. Of those nobody can say which is newer: two that are equal are the
same, and nothing else is ever concluded from them.
"""

from __future__ import annotations

import msgspec

from shards.objects import Resource


class Incomparable(ValueError):
    """Nobody can say which of two versions is newer: one is no decimal number, or they are of two resources."""


class Version(msgspec.Struct, frozen=True, gc=False):
    """A version of one resource. text: as it came; "" for nothing yet, which is older than everything.

    Comparisons raise Incomparable. Equality is safe for any form.
    """

    resource: Resource
    text: str

    def includes(self, other: Version) -> bool:
        """Whether a view at this version shows what the server had at the other one.

        For gates: False where nobody can say. Raises Incomparable for a version of another resource: whoever asks that
        has taken the wrong view, and would get an answer that means nothing.
        """
        self._of_one(other)
        return includes(self.text, other.text)

    def __lt__(self, other: Version) -> bool:
        return not self >= other

    def __le__(self, other: Version) -> bool:
        return other >= self

    def __gt__(self, other: Version) -> bool:
        return not other >= self

    def __ge__(self, other: Version) -> bool:
        self._of_one(other)
        return not other.text or at_least(self.text, other.text)

    def _of_one(self, other: Version) -> None:
        must_be_one(self.resource, other.resource)


def must_be_one(resource: Resource | None, other: Resource) -> None:
    """Raises Incomparable unless both are the same resource. None: nobody has said which."""
    if resource is not other and resource != other:
        raise Incomparable(f"versions of {resource or 'an unknown resource'} say nothing about {other}")


def comparable(version: str) -> bool:
    """Whether it can be compared with others: False for "", "0" and whatever is no decimal number."""
    return version.isascii() and version.isdigit() and version[0] != "0"


def version_key(version: str) -> tuple[int, str]:
    """Sort key of versions of one resource. Raises Incomparable."""
    if not comparable(version):
        raise Incomparable(f"not a resource version: {version!r}")
    return len(version), version


def at_least(have: str, want: str) -> bool:
    """Whether a view at `have` includes everything up to `want`. An empty view includes nothing.

    Raises Incomparable.
    """
    if not have:
        return False
    # `comparable` of both, written out: views compare versions more often than they do anything else.
    if have.isascii() and have.isdigit() and want.isascii() and want.isdigit() and have[0] != "0" != want[0]:
        return have >= want if len(have) == len(want) else len(have) > len(want)
    return version_key(have) >= version_key(want)


def includes(have: str, want: str) -> bool:
    """The same for gates, which stay closed where nobody can say: of versions that cannot be compared, only equal ones
    include each other."""
    if comparable(have) and comparable(want):
        return at_least(have, want)
    return have == want != ""


def newest(*versions: str) -> str:
    """The highest of the versions that are not empty; "" if there is none. Raises Incomparable."""
    if len(versions) == 2 and versions[0] and versions[1]:
        return versions[0] if at_least(*versions) else versions[1]
    found = ""
    for each in versions:
        if not each:
            continue
        if not found:
            version_key(each)  # also of one alone
            found = each
        elif not at_least(found, each):
            found = each
    return found
