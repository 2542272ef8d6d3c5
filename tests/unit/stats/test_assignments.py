"""What an UPDATE assigns to a column, by its text."""

from __future__ import annotations

import pytest

from pgq_ops.stats.assignments import assigned, is_given, is_nothing


@pytest.mark.parametrize(
    ("sets", "expression"),
    [
        (" SET a = $1, b = f(x, y), c = 2", "f(x, y)"),
        (" AS j SET B=b + $1 FROM other", "b + $1"),
        (" SET b = extract(epoch FROM now())", "extract(epoch FROM now())"),
        (" SET (a, b) = ($1, now())", "now()"),
        (" SET (a, b) = ROW(f(1, 2), $2)", "$2"),
        (" SET (a, b) = (SELECT x, y FROM t)", "y"),
        (" SET a = b, bb = $1", None),
        ("", None),
    ],
)
def test_the_expression_of_a_column_is_found(sets: str, expression: str | None) -> None:
    assert assigned(sets, "b") == expression


@pytest.mark.parametrize(
    ("expression", "given", "nothing"),
    [
        ("$1", True, False),
        ("$12::timestamp with time zone", True, False),
        ("CAST($1 AS text)", True, False),
        ("NULL", False, True),
        ("default", False, True),
        ("now() + $1", False, False),
        ("$1 + interval $2", False, False),
        ("b + $1", False, False),
    ],
)
def test_a_value_that_the_text_no_longer_tells_is_given(expression: str, given: bool, nothing: bool) -> None:  # noqa: FBT001
    assert (is_given(expression), is_nothing(expression)) == (given, nothing)
