"""How a log line looks, and what never gets into one."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pgq_ops import logs

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "p@ss:w#rd %/?&'\\ x"  # noqa: S105 (a test's)


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root, scheduler = logging.getLogger(), logging.getLogger("apscheduler")
    before, levels, raising = root.handlers[:], (root.level, scheduler.level), logging.raiseExceptions
    yield
    root.handlers[:] = before
    root.setLevel(levels[0])
    scheduler.setLevel(levels[1])
    logging.raiseExceptions = raising
    logs._secrets.clear()


@pytest.fixture
def text() -> StringIO:
    stream = StringIO()
    logs.configure("text", stream=stream)
    return stream


@pytest.fixture
def json_lines() -> StringIO:
    stream = StringIO()
    logs.configure("json", stream=stream)
    return stream


def line_without_time(stream: StringIO) -> str:
    [line] = stream.getvalue().splitlines()
    return line.split(" ", 1)[1]


def only_object(stream: StringIO) -> dict[str, Any]:
    [line] = stream.getvalue().splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_text_line_has_time_level_event_and_fields_in_the_order_given(text: StringIO) -> None:
    before = datetime.now(UTC)
    logs.get("reaper").info("reaper.reaped", job_table="emails", requeued=3, seconds=0.25, busy=False, owner=None)
    line = text.getvalue()
    assert line.endswith(" INFO reaper.reaped job_table=emails requeued=3 seconds=0.25 busy=false owner=null\n")
    moment = line.split(" ")[0]
    assert moment.endswith("Z")
    assert abs(datetime.fromisoformat(moment) - before) < timedelta(seconds=10)
    assert len(moment) == len("2026-11-30T10:00:00.123Z")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain-text.ok/1", "plain-text.ok/1"),
        ("", '""'),
        ("two words", '"two words"'),
        ('say "hi"', r'"say \"hi\""'),
        ("a=b", '"a=b"'),
        ("C:\\x", r'"C:\\x"'),
        ("one\ntwo\r\n", r'"one\ntwo\r\n"'),
        ("\x1b[31mred", r'"\u001b[31mred"'),
        ("line\u2028separator", r'"line\u2028separator"'),
        ("größe", "größe"),
        (timedelta(minutes=1, milliseconds=500), "60.5"),
        (datetime(2026, 11, 30, 10, tzinfo=UTC), "2026-11-30T10:00:00+00:00"),
        (float("inf"), "inf"),
        (ValueError("not allowed\n  GRANT a;\n  GRANT b;\n"), '"not allowed / GRANT a; / GRANT b;"'),
        (ValueError(), "ValueError"),
    ],
)
def test_a_value_is_quoted_only_where_it_needs_it(text: StringIO, value: object, written: str) -> None:
    logs.get("x").warning("x.y", value=value)
    assert line_without_time(text) == f"WARNING x.y value={written}"


def test_a_json_line_is_one_object_with_values_of_their_own_types(json_lines: StringIO) -> None:
    logs.get("reaper").error(
        "reaper.failed", job_table='a"b\nc', requeued=3, took=timedelta(seconds=2), nan=float("nan"), error=OSError("x")
    )
    found = only_object(json_lines)
    assert datetime.fromisoformat(found.pop("ts")).tzinfo is not None
    assert found == {
        "level": "error",
        "event": "reaper.failed",
        "job_table": 'a"b\nc',
        "requeued": 3,
        "took": 2.0,
        "nan": "nan",
        "error": "x",
    }


def test_a_field_cannot_take_the_place_of_time_level_or_event(json_lines: StringIO) -> None:
    logs.get("x").info("x.y", event="other", level="none", ts=0)
    found = only_object(json_lines)
    assert (found["event"], found["level"]) == ("x.y", "info")
    assert found["ts"] != 0


def test_a_traceback_is_written_at_debug_level_only_and_stays_on_the_line() -> None:
    def fail(level: int) -> str:
        stream = StringIO()
        logs.configure("text", level, stream)
        with pytest.raises(RuntimeError) as caught:
            raise RuntimeError("broken")
        logs.get("x").error("x.failed", error=caught.value)
        return line_without_time(stream)

    assert fail(logging.INFO) == "ERROR x.failed error=broken"
    debug = fail(logging.DEBUG)
    assert debug.startswith("ERROR x.failed error=broken error_traceback=")
    assert "in fail" in debug


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_secret_reaches_no_line_in_any_form(form: Literal["text", "json"]) -> None:
    stream = StringIO()
    logs.configure(form, logging.DEBUG, stream)
    logs.register_secrets([SECRET, ""])
    log = logs.get("db")
    uri = "postgresql://u:p%40ss%3Aw%23rd%20%25%2F%3F%26%27%5C%20x@h/d"
    with pytest.raises(RuntimeError) as caught:
        raise RuntimeError(f"could not connect with {SECRET}")
    log.error("db.lost", dsn=uri, password=SECRET, written=repr(SECRET), error=caught.value)
    logging.getLogger("some.library").error("tried %s", SECRET)
    found = stream.getvalue()
    assert len(found.splitlines()) == 2
    assert "ss:w" not in found
    assert "ss%3Aw" not in found
    assert found.count("***") == 6
    assert "postgresql://u:***@h/d" in found


def test_what_libraries_say_becomes_an_event_under_their_name(text: StringIO) -> None:
    logging.getLogger("some.library").warning("lost %d of %d", 1, 2)
    assert line_without_time(text) == 'WARNING some.library message="lost 1 of 2"'


def test_the_scheduler_library_is_heard_only_when_something_failed(text: StringIO) -> None:
    scheduler = logging.getLogger("apscheduler.executors.default")
    scheduler.info("running job")
    scheduler.warning("run time of job was missed")
    assert text.getvalue() == ""
    scheduler.error("job raised")
    assert "job raised" in text.getvalue()


def test_idle_ticks_are_silent_at_info_level(text: StringIO) -> None:
    logs.get("reaper").debug("reaper.nothing")
    assert text.getvalue() == ""


def test_configuring_again_replaces_the_set_up(text: StringIO) -> None:
    second = StringIO()
    logs.configure("json", stream=second)
    logs.get("x").info("x.y")
    assert text.getvalue() == ""
    assert only_object(second)["event"] == "x.y"


def test_a_stream_that_breaks_does_not_fail_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken(StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    logs.configure("text", stream=Broken())
    logs.get("x").info("x.y")
    assert capsys.readouterr().err == ""
