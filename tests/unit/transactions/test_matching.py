"""Which sessions `end_only` names."""

from __future__ import annotations

import pytest

from pgq_ops.config.transactions import EndOnly
from pgq_ops.stats.transactions import Transaction
from pgq_ops.tasks.end_matching import matching


def session(application_name: str, user: str = "bi") -> Transaction:
    return Transaction(
        1, "1.000001", application_name, user, "", "idle in transaction", 9.0, 9.0, None, superuser=False
    )


@pytest.mark.parametrize(
    ("pattern", "fits", "does_not_fit"),
    [
        ("report-*", ["report-", "report-job", "report-a\nb"], ["report", "a report-job", "Report-job", "reportxjob"]),
        ("report-?", ["report-1", "report-*"], ["report-", "report-12"]),
        ("*", ["", "anything"], []),
        ("worker", ["worker"], ["worker-1", "my worker", "WORKER", ""]),
        ("*job*", ["job", "a job b"], ["jo"]),
        ("a.c[0-9]", ["a.c[0-9]"], ["abc1", "a.c1"]),
        ("100%_\\d", ["100%_\\d"], ["1000_1", "100%_1"]),
    ],
)
def test_only_asterisk_and_question_mark_stand_for_other_text(
    pattern: str, fits: list[str], does_not_fit: list[str]
) -> None:
    rules = (EndOnly(application_name=pattern),)
    assert [name for name in (*fits, *does_not_fit) if matching(rules, session(name))] == fits


def test_every_key_of_a_rule_has_to_fit_and_one_rule_is_enough() -> None:
    rules = (EndOnly(application_name="report-*", user="bi"), EndOnly(user="tmp_?"))
    assert matching(rules, session("report-1", "bi")) is rules[0]
    assert matching(rules, session("report-1", "app")) is None
    assert matching(rules, session("web", "bi")) is None
    assert matching(rules, session("web", "tmp_1")) is rules[1]


def test_without_rules_nobody_is_named() -> None:
    assert matching((), session("report-1")) is None
