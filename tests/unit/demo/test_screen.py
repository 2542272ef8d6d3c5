from __future__ import annotations

import io
import re

from rich.console import Console

from pgq_ops.demo.log_view import LogView
from pgq_ops.demo.look import Held, Look
from pgq_ops.demo.screen import Screen
from pgq_ops.demo.view import Frame

CONTROL_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
COUNTS = {"scheduled": 1200, "ready": 34000, "running": 64, "done": 1234567, "dead": 321}
EVENTS = {"claimed": 9, "killed": 1000, "hung": 500, "poisoned": 60, "requeued": 1500, "buried": 321, "refused": 500}


def frame(workers: int) -> Frame:
    members = tuple(f"worker-{number}" for number in range(10_000, 10_000 + workers))
    held = (
        Held(1234567, 1, "worker-10000", 1.86, poison=False),
        Held(1234568, 3, "worker-10001", -0.42, poison=False),
    )
    look = Look(COUNTS, held, EVENTS, ())
    return Frame(12.3, 30, "jobs come in, workers fail", look, members, frozenset({"worker-10001", "worker-10002"}))


def drawn(workers: int) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=80, height=40, force_terminal=True, color_system=None, legacy_windows=False)
    with Screen(console) as screen:
        screen.say(11.2, "worker-10000 woke up; its late completion of job 1234567 changed nothing, " * 2)
        start = stream.tell()
        screen.draw(frame(workers))
        return CONTROL_CODES.sub("", stream.getvalue()[start:]).splitlines()


def test_the_screen_fits_80_columns_and_24_lines() -> None:
    lines = drawn(4)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_the_screen_tells_what_each_worker_does() -> None:
    text = "\n".join(drawn(4))
    assert "job 1234567, its lease ends in 1.9 s" in text
    assert "hangs with job 1234568, its lease ended 0.4 s ago" in text
    assert "hangs; its job was taken back" in text
    assert "idle" in text


def test_of_many_workers_the_first_are_shown_and_the_others_counted() -> None:
    text = "\n".join(drawn(64))
    assert "worker-10007" in text
    assert "worker-10008" not in text
    assert "and 56 more" in text


def test_the_log_tells_every_event_and_the_counts_only_now_and_then() -> None:
    stream = io.StringIO()
    log = LogView(stream)
    log.draw(frame(4))
    log.say(12.4, "worker-1 killed holding job 5")
    log.draw(frame(4))
    first, second = stream.getvalue().splitlines()
    assert "34000 ready" in first
    assert second == " 12.4 s  worker-1 killed holding job 5"
