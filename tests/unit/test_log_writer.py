"""Logs behind which nobody reads."""

from __future__ import annotations

import logging
import os
import time

import pytest

from pgq_ops import logs
from pgq_ops.log_writer import LogWriter


@pytest.fixture
def pipe() -> tuple[int, int]:
    """The reading and the writing end of a pipe."""
    return os.pipe()


def read_until(reading: int, end: bytes) -> bytes:
    found = b""
    while end not in found:
        found += os.read(reading, 65_536)
    return found


def test_lines_are_written_in_order_and_drained(pipe: tuple[int, int]) -> None:
    writer = LogWriter(pipe[1])
    for number in range(100):
        writer.put(f"line {number}")
    assert writer.drain(5)
    assert read_until(pipe[0], b"line 99\n").decode().splitlines() == [f"line {number}" for number in range(100)]


def test_a_pipe_that_nobody_reads_holds_up_nobody_and_what_was_left_out_is_told(pipe: tuple[int, int]) -> None:
    writer = LogWriter(pipe[1], most=50)
    began = time.monotonic()
    for number in range(5_000):
        writer.put(f"line {number} " + "x" * 4_000)
    assert not writer.drain(0.2)
    assert time.monotonic() - began < 2
    found = read_until(pipe[0], b"were left out").decode()
    kept = [line for line in found.splitlines() if line.startswith("line ")]
    assert kept[0].startswith("line 0 ")
    assert len(kept) < 5_000


def test_a_closed_end_is_no_reason_to_fail(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    writer = LogWriter(pipe[1])
    writer.put("into nothing")
    assert writer.drain(5)


def test_events_reach_the_writer_formatted_and_masked(pipe: tuple[int, int]) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    writer = LogWriter(pipe[1])
    try:
        logs.register_secrets(["hush-hush"])
        logs.configure("text", writer=writer)
        logs.get("test").warning("test.event", dsn="x hush-hush y")
        assert writer.drain(5)
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    assert b'WARNING test.event dsn="x *** y"' in read_until(pipe[0], b"\n")
