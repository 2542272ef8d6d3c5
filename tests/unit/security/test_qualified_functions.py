"""Every function that a statement calls is PostgreSQL's own: what others create on the search path is never called."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[3] / "pgq_ops"
# What may stand before a bracket without being a function that is looked up by its name.
SYNTAX = frozenset(
    """
    ALL ANALYZE AND ANY ARRAY AS BETWEEN BY CASE CHECK COALESCE CONFLICT DISTINCT ELSE EXISTS EXPLAIN EXTRACT FILTER
    FROM GREATEST GROUP IN JOIN KEY LATERAL LEAST LIKE LIMIT MATERIALIZED NOT NULLIF ON OR OVER RESET ROW SELECT SET
    THEN USING VACUUM VALUES WHEN WHERE
    """.split()  # noqa: SIM905 (one can read it)
)
# After these a name with a bracket is one that is given, or a table's with its columns, not one that is called.
GIVING = frozenset({"AS", "FUNCTION"})
NAMING_A_TABLE = frozenset({"INTO", "ON", "REFERENCES", "TABLE"})
NOT_CODE = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", re.DOTALL)
CALL = re.compile(r"(?:(?P<before>[A-Za-z]+)\s+)?(?<![\w.${}\"])(?P<name>[A-Za-z_]\w*)(?P<space>\s*)\(")
# Text for people: a built-in function of these types is found before anything else of the name.
PASTED = frozenset(
    {
        "binding/naive_times.py",
        "checks/autovacuum_off.py",
        "checks/claim_plan.py",
        "checks/dead_letter_cascade.py",
        "checks/horizon_held.py",
        "checks/production/autovacuum_off.py",
        "checks/production/autovacuum_threshold.py",
        "checks/production/backoff_mapped.py",
        "checks/production/connection_headroom.py",
        "checks/production/delete_cascades.py",
        "checks/production/fsync_off.py",
        "checks/production/idempotency.py",
        "checks/production/outgoing_foreign_keys.py",
        "checks/production/row_triggers.py",
        "checks/production/standby_feedback.py",
        "checks/reaping_trouble.py",
        "stats/blocking.py",
        "stats/horizon_remedies.py",
        "stats/session_ending.py",
        "tasks/autovacuum/script.py",
    }
)


def unqualified(text: str) -> list[str]:
    """The functions that are called by their bare name."""
    code = NOT_CODE.sub(lambda found: "''" if found[0][0] == "'" else " ", text)
    return [
        found["name"]
        for found in CALL.finditer(code)
        if found["name"].upper() not in SYNTAX
        and (found["before"] or "").upper() not in (GIVING | NAMING_A_TABLE if found["space"] else GIVING)
        and not _is_syntax(found["name"], _arguments(code, found.end()))
    ]


def _is_syntax(name: str, arguments: str) -> bool:
    """Forms that the parser itself makes calls of `pg_catalog`."""
    return (name == "unnest" and "," in arguments) or (name == "substring" and " FROM " in arguments)


def _arguments(code: str, start: int) -> str:
    """What is within the bracket that opens before `start`, without what is in brackets of its own."""
    depth, found = 0, ""
    for char in code[start:]:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth < 0:
            break
        found += char if depth == 0 else ""
    return found


def texts(module: Path) -> Iterator[tuple[int, str, bool]]:
    """The line and text of each constant that is no docstring, and whether it is an argument of `SQL()`."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    composed = {
        id(argument)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {"SQL", "execute"}
        for argument in ast.walk(ast.Tuple(node.args, ast.Load()))
    }
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.lineno, node.value, id(node) in composed


@pytest.mark.parametrize("statement", sorted(PACKAGE.rglob("*.sql")), ids=lambda path: path.stem)
def test_each_function_of_a_statement_is_called_with_its_schema(statement: Path) -> None:
    assert unqualified(statement.read_text(encoding="utf-8")) == []


def test_each_function_of_a_composed_fragment_is_called_with_its_schema() -> None:
    sources = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    ours = "".join(path.read_text(encoding="utf-8") for pattern in ("*.sql", "*.py") for path in PACKAGE.rglob(pattern))
    known = set(re.findall(r"pg_catalog\.(\w+)\(", ours))
    bare = {
        f"{name}:{line} {call}"
        for name, path in sources.items()
        for line, text, is_composed in texts(path)
        for call in unqualified(text)
        if (is_composed or (call in known and name not in PASTED))
    }
    assert bare == set()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT now()",
        "a <= make_interval(secs => 1)",
        "x AND pg_has_role ('a', 'b')",
        "SELECT unnest(a)",
        "JOIN b ON left(a, 1)",
    ],
)
def test_a_bare_call_is_seen(text: str) -> None:
    assert len(unqualified(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT pg_catalog.now(), 'now()' -- now()",
        "FROM unnest(%(a)s::text[], %(b)s::text[]) AS w(a, b)",
        "substring(a FROM 'b'), extract(epoch FROM a), COALESCE(a, b), a = ANY (b), (a) IN (b)",
    ],
)
def test_what_is_no_bare_call_is_not(text: str) -> None:
    assert unqualified(text) == []
