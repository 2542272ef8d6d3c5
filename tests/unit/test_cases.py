"""Tests name only field cases that exist."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.support.cases import CASES

TESTS = Path(__file__).parents[1]


def _named_cases(source: str) -> set[str]:
    """The first arguments of every `...mark.case(...)` call."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    marks = [call for call in calls if ast.unparse(call.func).endswith("mark.case")]
    return {ast.literal_eval(argument) for call in marks for argument in call.args}


def test_a_mark_is_found_with_its_ids() -> None:
    assert _named_cases("@pytest.mark.case('R1', 'R2')\ndef test_x(): ...") == {"R1", "R2"}


def test_every_case_that_a_test_names_is_known() -> None:
    unknown = {
        f"{path.relative_to(TESTS)}: {case}"
        for path in TESTS.rglob("test_*.py")
        if path != Path(__file__)
        for case in _named_cases(path.read_text())
        if case not in CASES
    }
    assert not unknown
