"""The screen's lines: what lines up, what is broken, what never is, and what a terminal must not obey."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from pgq_ops.cli.inspection import numbers
from pgq_ops.cli.inspection.lines import columns, printable, prose
from pgq_ops.cli.inspection.rows import QueueRow
from pgq_ops.cli.inspection.terminal import rendered
from pgq_ops.stats.depth import Age, Count

LONG = "SELECT " + ", ".join(f'"column {number}"' for number in range(60))


def texts(*rows: tuple[str, ...]) -> list[list[Text]]:
    return [[Text(cell) for cell in row] for row in rows]


def plain(lines: list[Text]) -> list[str]:
    return [line.plain for line in lines]


def test_numbers_line_up_on_the_right_and_names_on_the_left() -> None:
    assert plain(columns(texts(("queue", "ready"), ("mail", "5"), ("film", "1,200")), 80)) == [
        "queue  ready",
        "mail       5",
        "film   1,200",
    ]


def test_wide_characters_count_as_the_cells_they_take() -> None:
    lines = columns(texts(("queue", "ready"), ("日本語", "5"), ("film", "12")), 80)
    assert {cell_len(line.plain) for line in lines} == {len("日本語") * 2 + 2 + len("ready")}


def test_a_name_that_leaves_no_room_stands_whole_above_its_numbers() -> None:
    name = "x" * 30
    lines = plain(columns(texts(("queue", "ready"), (name, "5"), ("mail", "7")), 30))
    assert lines == ["queue  ready", name, "           5", "mail       7"]
    assert plain(columns(texts(("queue", "ready"), (name, "5")), 40))[1] == f"{name}      5"
    assert plain(columns(texts(("queue", "ready"), (name, "5")), None))[1] == f"{name}      5"


def test_prose_is_broken_between_words_and_names_in_it_are_not() -> None:
    lines = plain(prose(f"jobs of {'n' * 50} wait", 40, indent=10, first=Text("WARNING")))
    assert lines == ["WARNING   jobs of", " " * 10 + "n" * 50, " " * 10 + "wait"]
    assert plain(prose(f"jobs of {'n' * 50} wait", None, indent=2)) == [f"  jobs of {'n' * 50} wait"]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_line_longer_than_the_console_is_neither_cut_nor_broken(terminal: bool) -> None:  # noqa: FBT001
    console = Console(file=io.StringIO(), width=80, force_terminal=terminal, no_color=True)
    assert rendered(console, [Text(LONG), Text("next")]) == f"{LONG}\nnext\n"


def test_markup_is_shown_as_it_is_written() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="truecolor")
    assert rendered(console, [Text("[red]x :smile: [/red]")]) == "[red]x :smile: [/red]\n"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("left\u202eright", "left\\u202eright"),
        ("nothing\u200bthere", "nothing\\u200bthere"),
        ("half \ud800", "half \\ud800"),
        ("日本語 ñ [x] \\n", "日本語 ñ [x] \\n"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_shown_as_an_escape(name: str, shown: str) -> None:
    assert printable(name) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (Count(1_200), "1,200"),
        (Count(12_000, exact=False), "~12,000"),
        (Count(999_999, exact=False), "~999,999"),
        (Count(11_234_567, exact=False), "~11.2M"),
        (Count(11_234_567), "11,234,567"),
        (Count(0, exact=False), "~0"),
        (None, "?"),
    ],
)
def test_numbers_that_are_not_exact_are_marked(number: Count | None, shown: str) -> None:
    assert numbers.count(number) == shown


@pytest.mark.parametrize(
    ("age", "ready", "shown"),
    [
        (Age(432.4), 1, "7m12s > 5m"),
        (Age(300.0), 1, "5m < 5m"),
        (Age(300.6), 1, "5m1s > 5m"),
        (Age(0.0), 0, "-"),
        (Age(0.0), 1, "0s < 5m"),
        (Age(12.0, exact=False), 1, "~12s < 5m"),
        (Age(0.0, exact=False), 0, "~0s < 5m"),
        (None, 0, "?"),
    ],
)
def test_the_oldest_ready_job_is_held_against_the_promise(age: Age | None, ready: int, shown: str) -> None:
    assert numbers.waiting(QueueRow("mail", {"ready": Count(ready)}, age, 300.0)) == shown
