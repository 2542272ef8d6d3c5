"""The list of breaks fits the tree; `make mutants` tries them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from mutants.breaks import ROOT, Break, all_breaks
from mutants.copy import Copy
from mutants.trial import Outcome, attempt

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BREAKS = all_breaks()


@pytest.mark.parametrize("one", BREAKS, ids=lambda one: one.name)
def test_a_break_is_of_one_place_and_changes_it(one: Break) -> None:
    assert one.occurrences() == 1
    assert one.replace != one.find


@pytest.mark.parametrize("one", BREAKS, ids=lambda one: one.name)
def test_the_tests_that_should_notice_a_break_are_there(one: Break) -> None:
    assert one.tests
    for test in one.tests:
        file, _, name = test.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not name or re.search(rf"^def {name}\(", text, re.MULTILINE)


def test_no_two_breaks_share_a_name_and_there_are_enough() -> None:
    assert len({one.name for one in BREAKS}) == len(BREAKS) >= 20


class Untried(Copy):
    """A copy whose one file is `file`; its tests end as told, and it keeps what they would have seen."""

    def __init__(self, folder: Path, text: str, code: int | None = 0, output: str = "") -> None:
        self.folder = folder
        self.file = folder / "file"
        self.file.write_text(text)
        self.told = code, output
        self.seen: list[str] = []

    def test(self, tests: Sequence[str], *, stop_at_first: bool) -> tuple[int | None, str]:
        assert (tuple(tests), stop_at_first) == (("t",), True)
        self.seen.append(self.file.read_text())
        return self.told


@pytest.mark.parametrize(
    ("code", "output", "outcome"),
    [
        (1, "FAILED tests/x.py::y - AssertionError", Outcome.KILLED),
        (None, "", Outcome.KILLED),
        (0, "1 passed", Outcome.SURVIVED),
        (2, "ERROR collecting", Outcome.NOT_RUN),
        (4, "UsageError", Outcome.NOT_RUN),
        (5, "no tests ran", Outcome.NOT_RUN),
    ],
)
def test_only_a_test_that_failed_has_noticed(tmp_path: Path, code: int | None, output: str, outcome: Outcome) -> None:
    copy = Untried(tmp_path, "a b", code, output)
    assert attempt(Break("n", "file", "b", "c", "all", ("t",)), copy).outcome is outcome
    assert copy.seen == ["a c"]
    assert copy.file.read_text() == "a b"


@pytest.mark.parametrize("find", ["z", "a"])
def test_a_pattern_that_is_gone_or_there_twice_is_no_break(tmp_path: Path, find: str) -> None:
    copy = Untried(tmp_path, "a a")
    assert attempt(Break("n", "file", find, "c", "all", ("t",)), copy).outcome is Outcome.GONE
    assert copy.seen == []
