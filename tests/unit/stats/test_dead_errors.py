"""Errors that differ only in what varies from job to job are one."""

from __future__ import annotations

import pytest

from pgq_ops.stats.dead_errors import DeadErrors, ErrorGroup, alike, together


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        ("Timeout after 30 s, attempt 5 of 5", "Timeout after <n> s, attempt <n> of <n>"),
        ("job 0b9ed1f2-6ae8-4d7c-9e0d-5d6f0a4b7c11 failed", "job <uuid> failed"),
        ("object at 0x7f3580C9ea10", "object at <hex>"),
        ("commit deadbeef12 not found", "commit <hex> not found"),
        ("2026-11-30T12:00:00Z pgq-ops buried: no lease", "<time> pgq-ops buried: no lease"),
        ("at 2026-11-30 12:00:00.123+02 in line 12", "at <time> in line <n>"),
        ("host 10.0.0.12:5432 is  away", "host <n>:<n> is away"),
        ("defaced a facade", "defaced a facade"),
        ("x" * 300, "x" * 200),
    ],
)
def test_what_varies_is_replaced_and_words_are_kept(error: str, kept: str) -> None:
    assert alike(error) == kept


def test_the_errors_of_several_places_are_counted_together_the_most_frequent_first() -> None:
    one = DeadErrors((ErrorGroup("b", 3), ErrorGroup(None, 2)), 5)
    other = DeadErrors((ErrorGroup("a", 4), ErrorGroup("b", 2)), 6)
    assert together([one, other]) == DeadErrors((ErrorGroup("b", 5), ErrorGroup("a", 4), ErrorGroup(None, 2)), 11)
