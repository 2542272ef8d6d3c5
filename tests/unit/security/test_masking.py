"""Passwords in texts where nobody would look for one."""

from __future__ import annotations

import time

import pytest

from pgq_ops import logs
from pgq_ops.masking import without_uri_passwords


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgresql://u:hunter2@db/app", "postgresql://u:***@db/app"),
        ("at postgresql://u:hunter2@db/app, then", "at postgresql://u:***@db/app, then"),
        ('"https://u:hun@ter:2@db"', '"https://u:***@db"'),
        ("https://:hunter2@db", "https://:***@db"),
        ("postgresql:/u:hunter2@db", "postgresql:/u:***@db"),
        ("a://u:hunter2@b c://v:hunter2@d", "a://u:***@b c://v:***@d"),
        ("http://localhost:9788/metrics, ask me@example", "http://localhost:9788/metrics, ask me@example"),
        ("postgresql://u@db:5432/app", "postgresql://u@db:5432/app"),
        ("select 'a://b:' || c@d", "select 'a://b:' || c@d"),
        ("12:30:01 a:b@c", "12:30:01 a:b@c"),
        ("", ""),
    ],
)
def test_what_stands_between_user_and_host_is_masked_and_nothing_else(text: str, masked: str) -> None:
    assert without_uri_passwords(text) == masked
    assert logs.masked(text) == masked


@pytest.mark.parametrize("piece", ["://a:", ":/", "://a:b"])
def test_a_text_that_is_made_to_be_slow_is_not(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    begun = time.monotonic()
    assert without_uri_passwords(text) == text
    # On a busy machine 1 s; without the bounds minutes, and four times as long for twice the text.
    assert time.monotonic() - begun < 10
