"""The ids of the field cases that tests may name in `@pytest.mark.case("R1")`.

R reaping, D dead letters, P partitions, V vacuum and transactions, M metrics and alerts, A agent, C config.
"""

from __future__ import annotations

_HIGHEST = {"R": 23, "D": 5, "P": 13, "V": 10, "M": 7, "A": 6, "C": 3}

CASES = frozenset(f"{kind}{number}" for kind, highest in _HIGHEST.items() for number in range(1, highest + 1))
