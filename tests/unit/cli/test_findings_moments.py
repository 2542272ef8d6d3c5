"""Moments as a person says them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pgq_ops.cli.findings_moments import moment, shown, zone
from pgq_ops.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOW = datetime(2026, 11, 30, 14, 30, tzinfo=UTC)


@pytest.fixture
def live_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """`live_in("Europe/Paris")` sets this machine's time zone."""

    def move(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


def said(text: str, now: datetime = NOW) -> str:
    return f"{moment(text, now, '--at'):%Y-%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("03:12", "2026-11-30 03:12:00"),
        ("3:12", "2026-11-30 03:12:00"),
        ("14:30", "2026-11-30 14:30:00"),
        ("14:30:01", "2026-11-29 14:30:01"),
        ("23:00", "2026-11-29 23:00:00"),
        ("23:00+09:00", "2026-11-30 14:00:00"),
        ("2h", "2026-11-30 12:30:00"),
        ("1h30m ago", "2026-11-30 13:00:00"),
        ("2026-11-28 03:12", "2026-11-28 03:12:00"),
        ("2026-11-28T03:12:59+01:00", "2026-11-28 02:12:59"),
        ("2026-11-28T03:12Z", "2026-11-28 03:12:00"),
        ("2026-11-28", "2026-11-28 00:00:00"),
    ],
)
def test_a_moment_is_what_a_person_at_this_machine_means(text: str, meant: str, live_in: Callable[[str], None]) -> None:
    live_in("UTC")
    assert said(text) == meant


def test_without_a_zone_it_is_the_machine_s_which_can_be_named(live_in: Callable[[str], None]) -> None:
    live_in("America/New_York")
    assert said("03:12") == "2026-11-30 08:12:00"
    assert said("10:00") == "2026-11-29 15:00:00", "it is 09:30 there"
    assert said("2026-07-01 03:12") == "2026-07-01 07:12:00", "the clocks of then"
    assert (shown(NOW.timestamp()), zone(NOW.timestamp())) == ("2026-11-30 09:30:00", "EST (UTC-05:00)")
    live_in("UTC")
    assert zone(NOW.timestamp()) == "UTC"


@pytest.mark.parametrize(
    ("now", "meant"),
    [
        ("2026-10-25T01:40+00:00", "2026-10-25 01:30:00"),  # it is 02:40 for the second time
        ("2026-10-25T01:20+00:00", "2026-10-25 00:30:00"),  # it is 02:20 for the second time
        ("2026-03-29T10:00+00:00", "2026-03-28 01:30:00"),  # that morning no clock showed 02:30
    ],
)
def test_when_the_clocks_change_it_is_the_last_time_that_they_showed_it(
    now: str, meant: str, live_in: Callable[[str], None]
) -> None:
    live_in("Europe/Paris")
    assert said("02:30", datetime.fromisoformat(now)) == meant


@pytest.mark.parametrize("text", ["", "soon", "25:00", "3", "2026-13-01", "03:12 yesterday", "2 fortnights"])
def test_what_is_no_moment_is_refused_with_what_would_be_one(text: str) -> None:
    with pytest.raises(UsageError, match=r'--at ".*" is no moment: write a time of day \("03:12"'):
        moment(text, NOW, "--at")


def test_the_future_is_refused() -> None:
    with pytest.raises(UsageError, match='--since "2026-12-01T14:30Z" is 1d ahead'):
        moment("2026-12-01T14:30Z", NOW, "--since")
