"""Which part of a remedy belongs in a shell, and which in psql."""

from __future__ import annotations

from pgq_ops.checks.remedy_steps import steps

END = "pgq-ops transactions end --yes 1@1.5"
SLOT = "-- nobody uses it\nSELECT pg_drop_replication_slot('old');"


def test_commands_of_one_kind_need_no_heading() -> None:
    assert steps(END, "", END) == f"{END}\n{END}"
    assert steps(SLOT, "VACUUM jobs;") == f"{SLOT}\nVACUUM jobs;"
    assert steps() == ""


def test_where_they_are_mixed_each_part_says_where_it_is_run() -> None:
    assert steps(END, END, SLOT, "VACUUM jobs;").splitlines() == [
        "# in a shell:",
        END,
        END,
        "-- then, in psql:",
        *SLOT.splitlines(),
        "VACUUM jobs;",
    ]


def test_what_is_run_only_in_some_case_stands_under_its_condition() -> None:
    assert steps("VACUUM jobs;", SLOT, then="else").splitlines() == [
        "-- in psql:",
        "VACUUM jobs;",
        "-- else, in psql:",
        *SLOT.splitlines(),
    ]
