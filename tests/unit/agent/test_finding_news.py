"""Which turns of an open finding cannot wait for their minute."""

from __future__ import annotations

from typing import Any

import pytest

from pgq_ops.agent.finding_news import is_urgent
from pgq_ops.schema.saying import Saying


def saying(severity: str = "warning", **evidence: Any) -> Saying:
    return Saying(severity, "", evidence, "")


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (saying("warning"), saying("critical"), True),
        (saying("critical"), saying("warning"), False),
        (saying(holder=None), saying(holder={"pid": 7, "name": None}), True),
        (saying(holder={"pid": 7}), saying(holder=None), False),
        (saying(holder={"pid": 7}), saying(holder={"pid": 8}), False),
        (saying(holder=None, holders=[]), saying(holder=None, holders=[{"pid": 7}]), False),
        (saying(sessions=[{"pid": 7, "database": None}]), saying(sessions=[{"pid": 7, "database": None}]), False),
    ],
)
def test_a_worse_severity_and_a_name_that_was_not_known_do(before: Saying, now: Saying, *, expected: bool) -> None:
    assert is_urgent(before, now) is expected
