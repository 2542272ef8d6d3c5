"""What queues are called where they are shown."""

from __future__ import annotations

import pytest

from pgq_ops.job_table.queue_labels import QueueLabels, queue_label, queue_labels, shown


def test_the_largest_queues_get_the_labels_there_are_and_ties_go_by_name() -> None:
    labels = QueueLabels(most=3)
    labels.admit({"small": 1, "d": 5, "b": 5, "large": 9, None: 0})
    assert labels.known() == ("large", "b", "d")
    assert labels.label("small") == "(other)"
    assert labels.label(None) == "(other)"


def test_a_label_is_kept_whatever_becomes_of_the_queue() -> None:
    labels = QueueLabels(most=2)
    labels.admit({"a": 5, "b": 1})
    labels.admit({"c": 500, "a": 0})
    assert [labels.label(queue) for queue in ("a", "b", "c")] == ["a", "b", "(other)"]


def test_configured_queues_have_labels_beyond_the_limit() -> None:
    labels = QueueLabels(most=2)
    labels.admit({"a": 5, "b": 1})
    labels.configure(["video", "a"])
    assert labels.label("video") == "video"
    assert labels.known() == ("a", "b", "video")


def test_everything_in_the_process_shares_a_tables_labels() -> None:
    for number in range(50):
        queue_label("app", "a test's table", f"q{number}")
    assert queue_label("app", "a test's table", "q50") == "(other)"
    assert queue_labels("app", "a test's table").label("q49") == "q49"
    assert queue_label("other", "a test's table", "q50") == "q50"


@pytest.mark.parametrize("name", ["default", "with space", 'quote"d', "é", "x" * 200, "100 %", "{}"])
def test_an_ordinary_name_is_shown_as_it_is(name: str) -> None:
    assert shown(name) == name


@pytest.mark.parametrize("name", ["x" * 201, "a\nb", "a\x00b", "a\ud800b", "(other)", "(null)", "(all)", "(empty)"])
def test_any_other_name_is_made_fit_and_told_apart(name: str) -> None:
    made = shown(name)
    assert made != name
    assert len(made) <= 200
    assert made.isprintable()
    assert made.encode("utf-8")
    assert made != shown(name + "x")


def test_null_and_empty_are_named() -> None:
    assert shown(None) == "(null)"
    assert shown("") == "(empty)"
