"""One error for several job tables."""

from __future__ import annotations

import pytest

from pgq_ops.cli.several import united
from pgq_ops.errors import ActionFailed, ConfigError, DatabaseFailed, NotPermitted, PgqOpsError, Problem

WRONG = ConfigError((Problem("a.table", "is not there"),))
WRONG_TOO = ConfigError((Problem("b.table", "is not there"), Problem("b.id", "is no column")))
FORBIDDEN = NotPermitted("may not read c", "GRANT SELECT ON c TO me;")
FAILED = DatabaseFailed("could not read d")
HALF = ActionFailed("stopped part way")


def test_without_errors_there_is_none() -> None:
    assert united([]) is None


def test_one_alone_stays_as_it_is() -> None:
    assert united([FORBIDDEN]) is FORBIDDEN


def test_what_is_wrong_with_several_tables_is_one_list_of_problems() -> None:
    error = united([WRONG, WRONG_TOO, WRONG])
    assert isinstance(error, ConfigError)
    assert error.problems == (*WRONG.problems, *WRONG_TOO.problems)


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ([FORBIDDEN, FAILED], 3),
        ([FORBIDDEN, WRONG], 2),
        ([FAILED, WRONG, WRONG_TOO], 2),
        ([FORBIDDEN, HALF], 4),
        ([WRONG, HALF, FAILED], 4),
    ],
)
def test_all_are_told_and_the_worst_decides_the_exit_code(errors: list[PgqOpsError], code: int) -> None:
    error = united(errors)
    assert error is not None
    assert error.exit_code == code
    assert all(line in str(error) for one in errors for line in str(one).splitlines())
