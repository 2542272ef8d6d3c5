from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.config.columns import Column
from pgq_ops.config.job_table import OrderTerm
from pgq_ops.config.show import rows
from pgq_ops.config.states import StatePredicate, StateValues

if TYPE_CHECKING:
    from tests.unit.config.conftest import Load, Refused

COLUMNS = "[job_tables.emails.columns]\n"
STATES = "[job_tables.emails.states]\n"


@pytest.mark.case("C1")
@pytest.mark.parametrize("name", ["Id", "desc", "Created At", 'a"b', "100%", "{}", "{id}", "é" * 31 + "e", " x"])
def test_a_column_name_is_taken_exactly_as_written(load_text: Load, emails: str, name: str) -> None:
    columns = load_text(f"{emails}{COLUMNS}id = '{name}'").config.job_tables["emails"].columns
    assert columns.id == Column(name=name)


@pytest.mark.parametrize(
    ("written", "column"),
    [
        ('{ sql = "lower(status)" }', Column(sql="lower(status)")),
        ('{ column = "lease_ms", unit = "ms" }', Column(name="lease_ms", unit="ms")),
        ('{ sql = "payload->>\'at\'", unit = "s" }', Column(sql="payload->>'at'", unit="s")),
    ],
)
def test_a_column_may_be_an_expression_or_have_a_unit(
    load_text: Load, emails: str, written: str, column: Column
) -> None:
    columns = load_text(f"{emails}{COLUMNS}kind = {written}").config.job_tables["emails"].columns
    assert columns.kind == column


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("5", "must be the name of a column in quotes"),
        ('["a"]', "must be the name of a column in quotes"),
        ('""', "is empty"),
        ("{}", "needs either a column's name or `sql`"),
        ('{ column = "a", sql = "b" }', "needs either a column's name or `sql`"),
        ('{ column = "a", unit = "min" }', 'kind.unit: must be "s" or "ms" or "us"'),
        ('{ colum = "a" }', 'kind.colum: there is no such setting (did you mean "column"?)'),
        (r'"a\u0000"', "kind: holds a NUL character"),
        ('"' + "x" * 64 + '"', "is longer than the 63 bytes"),
        ('"' + "é" * 32 + '"', "is longer than the 63 bytes"),
    ],
)
def test_what_is_no_column_is_refused(refused: Refused, emails: str, written: str, message: str) -> None:
    assert message in refused(f"{emails}{COLUMNS}kind = {written}")


def test_a_part_that_no_column_can_play_is_refused(refused: Refused, emails: str) -> None:
    told = refused(f'{emails}{COLUMNS}lease_expire_at = "x"')
    assert 'columns.lease_expire_at: there is no such setting (did you mean "lease_expires_at"?)' in told


def test_states_are_values_in_their_own_types_or_predicates(load_text: Load, emails: str) -> None:
    predicate = '{ where = "done_at IS NOT NULL", set = { done_at = { sql = "now()" }, ok = "true" } }'
    text = f'{emails}{STATES}pending = [0, "0", true]\nrunning = [1]\ndone = {predicate}\n'
    states = load_text(text).config.job_tables["emails"].states
    assert states.pending == StateValues(values=(0, "0", True))
    assert isinstance(states.pending, StateValues)
    assert [type(value) for value in states.pending.values] == [int, str, bool]
    assert states.running == StateValues(values=(1,))
    assert states.done == StatePredicate(where="done_at IS NOT NULL", set={"done_at": "now()", "ok": "true"})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('dead = "failed"', 'states.dead: must be a list (write ["failed"])'),
        ("dead = 3", "states.dead: must be a list (write [3])"),
        ("dead = []", 'states.dead: is needed (such as ["failed"], or set reaper.dead_letter_table)'),
        ("pending = []", "states.pending: is needed"),
        ("dead = [1.5]", "states.dead[0]: must be text in quotes or a whole number or true or false"),
        ("dead = 1.5", "states.dead: must be a list of values"),
        ('dead = ["pending"]', "'pending' is in both pending and dead"),
        ('dead = { wher = "x" }', 'states.dead.wher: there is no such setting (did you mean "where"?)'),
        ("dead = { set = {} }", "states.dead.where: is needed"),
        ('dead = { where = "x", set = { a = 5 } }', "states.dead.set.a: must be text in quotes"),
        ('failed = ["x"]', "states.failed: there is no such setting"),
    ],
)
def test_what_is_no_state_is_refused(refused: Refused, emails: str, line: str, message: str) -> None:
    assert message in refused(emails + STATES + line)


def test_an_empty_list_switches_off_a_state_of_the_preset(load_text: Load, emails: str) -> None:
    loaded = load_text(f'{emails}{STATES}dead = []\ndone = []\n[job_tables.emails.reaper]\ndead_letter_table = "d"\n')
    assert list(loaded.config.job_tables["emails"].states.mapped()) == ["pending", "running"]
    shown = {row.key: (row.value, row.origin) for row in rows(loaded)}
    assert shown["job_tables.emails.states.dead"] == (None, "file pgq-ops.toml")


def test_a_value_may_be_twice_in_one_state_and_a_number_is_no_text(load_text: Load, emails: str) -> None:
    load_text(f'{emails}{STATES}pending = ["1", "1"]\nrunning = [1]\ndone = [true]')


@pytest.mark.parametrize(
    ("written", "term"),
    [
        ("priority", OrderTerm(column="priority", descending=False)),
        ("priority desc", OrderTerm(column="priority", descending=True)),
        ("priority  DESC ", OrderTerm(column="priority", descending=True)),
        ("priority asc", OrderTerm(column="priority", descending=False)),
        ("desc", OrderTerm(column="desc", descending=False)),
        ("desc desc", OrderTerm(column="desc", descending=True)),
        ("Created At", OrderTerm(column="Created At", descending=False)),
        ("Created At desc", OrderTerm(column="Created At", descending=True)),
        ('"x desc"', OrderTerm(column="x desc", descending=False)),
        ('"a""b" desc', OrderTerm(column='a"b', descending=True)),
    ],
)
def test_an_order_term_is_a_column_and_a_direction(load_text: Load, emails: str, written: str, term: OrderTerm) -> None:
    table = load_text(f"{emails}[job_tables.emails.claim]\norder = ['{written}']").config.job_tables["emails"]
    assert table.claim_order() == (term,)


@pytest.mark.parametrize("written", ["priority desc nulls last", "priority NULLS FIRST"])
def test_the_place_of_nulls_cannot_be_told(refused: Refused, emails: str, written: str) -> None:
    told = refused(f'{emails}[job_tables.emails.claim]\norder = ["id", "{written}"]')
    assert "claim.order[1]: NULLS FIRST and NULLS LAST are not supported" in told


def test_without_an_order_jobs_are_claimed_when_due_then_by_id(load_text: Load) -> None:
    text = """
    [job_tables.a]
    table = "a"
    columns = { id = "job_id", state = "s", available_at = "due" }
    states = { pending = ["p"], running = ["r"], dead = ["d"] }
    """
    order = load_text(text).config.job_tables["a"].claim_order()
    assert order == (OrderTerm(column="due"), OrderTerm(column="job_id"))


def test_the_lease_preset_s_claim_order_follows_the_column_that_is_mapped_over_it(load_text: Load) -> None:
    text = '[job_tables.a]\ntable = "a"\npreset = "lease"\ncolumns = { available_at = "run_at" }'
    order = load_text(text).config.job_tables["a"].claim_order()
    assert order == (OrderTerm(column="run_at"), OrderTerm(column="id"))
