"""All scenarios, in the order of Sieve's catalogue."""

from __future__ import annotations

from tests.integration.sieve.indirect import INDIRECT
from tests.integration.sieve.intermediate import INTERMEDIATE
from tests.integration.sieve.stale import STALE
from tests.integration.sieve.unobserved import UNOBSERVED

CATALOGUE = tuple(sorted((*STALE, *INTERMEDIATE, *UNOBSERVED, *INDIRECT), key=lambda each: each.number))
