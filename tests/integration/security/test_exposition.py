"""/metrics with the worst names there can be: both text formats stay valid, and each name stays one name."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry, openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as classic_families

from pgq_ops.exporter.server import MetricsServer
from pgq_ops.job_table.queue_labels import shown
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client.core import Metric

    from pgq_ops.exporter.store import Store
    from tests.support.database import Database

PROMTOOL = shutil.which("promtool")
WORST = [
    'quote"d',
    "back\\slash",
    "ends with \\",
    "line\nbreak",
    "\\n is no break",
    '"} 1\npgqops_jobs{queue="forged"} 99',
    "# HELP pgqops_jobs forged",
    "# EOF",
    "carriage\r\nreturn",
    "\x1b[31mred",
    "\u202egnp.exe",
    "\u2028\u2029\x85\xa0",
    "\ufeff\ufffe\uffff\U0010ffff",
    "\U0001f600e\u0301",
    "{a=\"b\",c='d'}",
    "100 %s %% {}",
    "x" * 4_096,
    "\n" * 4_096,
    "",
    " ",
    None,
    "(null)",
    "(other)",
    "(all)",
    "(empty)",
    "NaN",
    "+Inf",
]
# But for the end of a line.
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
NAME = 'j"o\\b\ns # {}'


@contextmanager
def served(store: Store) -> Iterator[str]:
    registry = CollectorRegistry()
    registry.register(store)
    server = MetricsServer(("127.0.0.1", 0), registry, lambda: None)
    server.start()
    try:
        yield f"http://127.0.0.1:{server.port}/metrics"
    finally:
        server.stop()


def fetched(url: str, accept: str) -> tuple[str, str]:
    request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310  # our own server
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return answer.headers["Content-Type"], answer.read().decode("utf-8")


def ready_jobs(families: Iterable[Metric]) -> dict[str, float]:
    """The ready jobs by queue."""
    [jobs] = [family for family in families if family.name == "pgqops_jobs"]
    assert {sample.labels["job_table"] for sample in jobs.samples} == {NAME}
    return {sample.labels["queue"]: sample.value for sample in jobs.samples if sample.labels["state"] == "ready"}


def require_promtool_to_accept(text: str) -> None:
    """What Prometheus' own tool says of the text: it must be able to read it, and find nothing wrong with it."""
    if PROMTOOL is None:
        pytest.skip("promtool is not installed: the parsers of prometheus_client have accepted the text")
    checked = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def toml() -> str:
    return FIELD.replace("[job_tables.jobs", f"[job_tables.{json.dumps(NAME)}")


@pytest.mark.case("M5")
def test_each_name_is_one_label_in_both_formats(database: Database) -> None:
    create_field_table(database)
    for number, name in enumerate(WORST, 1):
        for _ in range(number):
            with_name = "INSERT INTO jobs (queue, status) VALUES (%s, 'pending')"
            database.execute(with_name, [name])
    seen = collection_of(database, toml()).healthy()
    expected = {shown(name): float(number) for number, name in enumerate(WORST, 1)}
    assert len(expected) == len(WORST)
    with served(seen.collector.store) as url:
        kind, classic = fetched(url, "text/plain")
        assert kind.startswith("text/plain; version=0.0.4")
        kind, modern = fetched(url, openmetrics.exposition.CONTENT_TYPE_LATEST)
        assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert CONTROLS.search(classic + modern) is None
    assert ready_jobs(classic_families(classic)) == expected
    assert ready_jobs(openmetrics_families(modern)) == expected  # type: ignore[no-untyped-call]
    assert modern.endswith("\n# EOF\n")
    require_promtool_to_accept(classic)


@pytest.mark.case("M5")
def test_thousands_of_them_are_a_bounded_valid_text(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (queue, status) SELECT E'\"} 1\\n\\\\' || i || repeat('\\\"x', 100), 'pending'"
        " FROM generate_series(1, 5000) AS i"
    )
    seen = collection_of(database, toml()).healthy()
    with served(seen.collector.store) as url:
        _, classic = fetched(url, "")
        _, modern = fetched(url, "application/openmetrics-text")
    in_modern = ready_jobs(openmetrics_families(modern))  # type: ignore[no-untyped-call]
    for found in (ready_jobs(classic_families(classic)), in_modern):
        assert len(found) == 51
        assert sum(found.values()) == 5_000
    assert len(classic) < 2_000_000
    require_promtool_to_accept(classic)
