"""What is told once: a session that `horizon-held` names is not told again as an idle or a long one."""

from __future__ import annotations

from typing import Any

import pytest

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.one_chain import told_once


def finding(name: str, **evidence: Any) -> Finding:
    return Finding(name, Severity.WARNING, name, evidence)


def sessions(*names: str) -> list[dict[str, Any]]:
    return [{"session": name} for name in names]


@pytest.mark.parametrize("about", ["idle-in-transaction", "long-transactions"])
def test_a_session_that_holds_the_horizon_is_told_once(about: str) -> None:
    held = finding("horizon-held", holders=sessions("1@5.0", "2@6.0"))
    other = finding(about, sessions=sessions("2@6.0"))
    assert told_once([held, other]) == [held]


@pytest.mark.parametrize("about", ["idle-in-transaction", "long-transactions"])
def test_what_names_anybody_else_too_stays(about: str) -> None:
    held = finding("horizon-held", holders=sessions("1@5.0"))
    other = finding(about, sessions=sessions("1@5.0", "3@7.0"))
    assert told_once([held, other]) == [held, other]
    assert told_once([other]) == [other]


def test_what_may_be_about_more_than_it_names_stays() -> None:
    names = [f"{pid}@5.0" for pid in range(10)]
    held, other = (
        finding("horizon-held", holders=sessions(*names)),
        finding("long-transactions", sessions=sessions(*names)),
    )
    assert told_once([held, other]) == [held, other]
