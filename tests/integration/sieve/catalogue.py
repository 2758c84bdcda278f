"""All scenarios, in the order of Sieve's catalogue."""

from __future__ import annotations

from tests.integration.sieve.intermediate import INTERMEDIATE
from tests.integration.sieve.stale import STALE

CATALOGUE = tuple(sorted((*STALE, *INTERMEDIATE), key=lambda each: each.number))
