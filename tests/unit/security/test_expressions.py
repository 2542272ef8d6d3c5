"""SQL in the configuration is one expression that cannot end what is around it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pgq_ops.config.load import load
from pgq_ops.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

ESCAPES = [
    "1) ; DROP TABLE jobs; --",
    "true; DROP TABLE jobs",
    "status = 'x') OR (true",
    "status) FROM jobs AS j; DROP TABLE jobs; SELECT (1",
    "1), (SELECT 2",
    "1] || [2",
    "(1]",
    "((1)",
    "array[1",
    "'it''s",
    'a" OR (true',
    "/* /* */ true",
    "1 /* */ */ ) OR (1",
    "1 -- )\n) OR (true",
    "E'it\\'s\\'",
    "E'a'\n'\\'' = '') OR (true --'",
    "E'a' -- x\n'\\'' = '') OR (true --'",
    "$1",
    "status = $2::text",
    "$$) OR (true",
    "a$$) OR (true $$",
    "\u20ac$$) OR (true --$$",
    "\u00a0$$) OR (true --$$",
    "$a$ ) $b$ ) OR (true",
    "U&'\\0027') OR (true",
]
ORDINARY = [
    "lower(status)",
    "payload ->> 'queue'",
    "coalesce(payload -> 'a' ->> 'b;)', ')')",
    "case when \"odd ) name\" = ';' then 'x' end",
    "status = 'it''s' and not done",
    "tags[1] = any (array['a', 'b)'])",
    "to_timestamp(run_at / 1000.0) -- milliseconds )",
    "/* a ) /* nested ; */ ' */ true",
    "E'it\\'s )' = status",
    "$tag$ ) ; ' $tag$ = status",
    "(SELECT max(x) FROM other WHERE y % 2 = 1)",
    "SELECT max(x) FROM other",
    "a$1 = b$$c and größe > 0",
    "'a'\n'b' = status",
    "B'101' = flags",
    "payload @? '$.a[*] ? (@ > 1)'",
    "1\\2",
]


def _load(folder: Path, section: str, preset: str = "lease") -> None:
    text = f'[job_tables.emails]\ntable = "jobs"\npreset = {json.dumps(preset)}\n{section}\n'
    (folder / "pgq-ops.toml").write_text(text, encoding="utf-8")
    load(folder / "pgq-ops.toml", {}, {})


def _sections(text: str) -> list[str]:
    quoted = json.dumps(text, ensure_ascii=False)
    return [
        f"[job_tables.emails.columns]\nkind = {{ sql = {quoted} }}",
        f"[job_tables.emails.states]\ndone = {{ where = {quoted} }}",
        f"[job_tables.emails.states]\ndead = {{ where = 'true', set = {{ status = {quoted} }} }}",
        f"[job_tables.emails.states]\ndead = {{ where = 'true', set = {{ status = {{ sql = {quoted} }} }} }}",
    ]


@pytest.mark.parametrize("text", ESCAPES)
def test_text_that_ends_what_is_around_it_is_refused_wherever_sql_may_stand(tmp_path: Path, text: str) -> None:
    for section in _sections(text):
        with pytest.raises(ConfigError, match=r"job_tables\.emails\.(columns\.kind|states\.\w+)"):
            _load(tmp_path, section)


@pytest.mark.parametrize("text", ORDINARY)
def test_expressions_are_taken_as_they_are(tmp_path: Path, text: str) -> None:
    for section in _sections(text):
        _load(tmp_path, section)


def test_an_escape_is_told_with_its_place_and_what_would_be_right(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, _sections("a = 1) OR (true")[1])
    told = str(caught.value)
    assert "job_tables.emails.states.done.where: " in told
    assert 'has a ")" that closes nothing (it must be one SQL expression)' in told


@pytest.mark.parametrize("name", ["../../etc/passwd", "../presets/lease", "lease.toml", "lease\0", "/etc/passwd", ""])
def test_a_preset_is_one_of_the_package_s_and_no_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="preset"):
        _load(tmp_path, "", name)
