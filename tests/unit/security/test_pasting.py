"""SQL to paste stays on one line, and keeps what is in its names, texts and comments apart from what is run."""

from __future__ import annotations

import pytest
from psycopg import sql

from pgq_ops.checks.wording import command
from pgq_ops.job_table.pasting import in_one_line, pasted
from pgq_ops.job_table.quoting import expression, identifier, literal
from pgq_ops.stats.horizon_remedies import remedy_of
from pgq_ops.stats.horizon_rows import Row
from pgq_ops.stats.session_ending import prepared_remedy

DATABASE = "app\nDROP TABLE canary; --\r\u2028DROP TABLE canary;"


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        (identifier("a", "b"), '"a"."b"'),
        (identifier('a\n"\\b 100 %'), 'U&"a\\000A""\\\\b 100 %"'),
        (identifier("é\U000e0001"), 'U&"é\\+0E0001"'),
        (literal("it's \\n"), "'it''s \\n'"),
        (literal("it's\n\\n"), "E'it''s\\u000A\\\\n'"),
        (literal("\U000e0001"), "E'\\U000E0001'"),
        (sql.SQL("E'a\\n\n' || E'\\\n'"), "E'a\\n\\u000A' || E'\\u000A'"),
        (sql.SQL("$$it's\n$$ || $a$\\\n$a$ || $a$$$$a$"), "E'it''s\\u000A' || E'\\\\\\u000A' || $a$$$$a$"),
        (sql.SQL("U&'\\0041\n' || U&\"\\0041\n\""), "U&'\\0041\\000A' || U&\"\\0041\\000A\""),
        (sql.SQL("x <=\r\npg_catalog.now() AND y = 'pg_catalog.now()'"), "x <=  now() AND y = 'pg_catalog.now()'"),
        (sql.SQL('my.pg_catalog.now() AND "pg_catalog.now()" AND pg_catalog.t'), None),
        (expression("a -- one\n> 1 /* and\nmore */"), "(a   > 1   )"),
    ],
)
def test_a_fragment_is_one_line(fragment: sql.Composable, text: str | None) -> None:
    assert pasted(fragment) == (text or fragment.as_string(None))


def test_a_word_of_a_command_is_one_line_of_a_shell() -> None:
    assert command("pgq-ops", "reap", "emails", "it's mine") == """pgq-ops reap emails 'it'"'"'s mine'"""
    assert command("reap", "it's\n\\é\u2028") == "reap $'it\\'s\\012\\\\é\\342\\200\\250'"


@pytest.mark.parametrize("kind", ["backend", "prepared"])
def test_a_comment_with_a_database_s_name_is_one_line(kind: str) -> None:
    row = Row("session", 1, "gid", None, None, None, "1.5", None, None, None, None, None, None)
    comment, statement = remedy_of(kind, row, DATABASE).splitlines()
    assert comment.startswith("-- ")
    assert statement.startswith(("SELECT pg_terminate_backend", "ROLLBACK PREPARED 'gid';"))
    assert in_one_line(DATABASE) in comment


def test_a_prepared_transaction_with_a_line_break_is_given_up_by_its_name() -> None:
    assert prepared_remedy("a\nb").splitlines()[-1] == "ROLLBACK PREPARED E'a\\u000Ab';"
