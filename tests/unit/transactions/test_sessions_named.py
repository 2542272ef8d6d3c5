"""PID@START as it is typed."""

from __future__ import annotations

import pytest

from pgq_ops.cli.transactions_ending import parsed
from pgq_ops.errors import UsageError
from pgq_ops.stats.session_ending import prepared_remedy, printed, remedy


@pytest.mark.parametrize("word", ["1@1764518400.123456", "2147483647@1764518400.1", "4242@0.5"])
def test_what_is_printed_is_read(word: str) -> None:
    [(pid, started)] = parsed([word])
    assert printed(pid, started) == word
    assert remedy(pid, started, superuser=False) == f"pgq-ops transactions end --yes {word}"


NO_SESSIONS = """
4242 4242@ @1.5 x@1.5 0@1.5 -1@1.5 +1@1.5 4242@now 4242@15 4242@1e9 4242@1.5; 2147483648@1.5 9999999999@1.5 ٣@1.5 1@٣.5
4242@1.1234567 4242@-1.5
"""


@pytest.mark.parametrize("word", ["", "4242 @1.5", "4242@1.5\n", *NO_SESSIONS.split()])
def test_what_is_no_session_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="is no PID@START"):
        parsed(["1@1.5", word])


def test_one_that_is_named_twice_is_there_once_and_the_order_stays() -> None:
    assert parsed(["2@1.5", "1@1.5", "2@1.5", "2@1.6"]) == [(2, "1.5"), (1, "1.5"), (2, "1.6")]


def test_a_superuser_s_session_is_ended_by_sql_under_the_same_condition() -> None:
    text = remedy(7, "1.5", superuser=True)
    assert "WHERE pid = 7 AND extract(epoch FROM xact_start) = 1.5;" in text
    assert remedy(7, None, superuser=False) == "SELECT pg_terminate_backend(7);"


def test_a_prepared_transaction_s_name_is_quoted() -> None:
    caution, command = prepared_remedy("it's 100%").splitlines()
    assert caution == "-- in its database; COMMIT PREPARED instead where its transaction manager has decided so"
    assert command == "ROLLBACK PREPARED 'it''s 100%';"
    assert prepared_remedy("x", "shop").startswith("-- in database shop; COMMIT")
