"""docs/metrics.md names what is exported, no more and no less; each finding has its page."""

from __future__ import annotations

import re
from pathlib import Path

from pgq_ops import metrics
from pgq_ops.agent import leading, process  # what they import declares the process's own metrics
from pgq_ops.checks.production.registry import POINTS
from pgq_ops.checks.registry import IDS
from pgq_ops.exporter.store import FAMILIES
from tests.support.pages import PAGES

DOCS = Path(__file__).parents[3] / "docs"
ROW = re.compile(r"^\| `(pgqops_\w+)` \| (\w+) \| ([\w, ]*?) ?\|", re.MULTILINE)


def _exported() -> dict[str, tuple[str, frozenset[str]]]:
    assert leading
    assert process
    known: dict[str, tuple[str, frozenset[str]]] = {}
    for family in FAMILIES:
        known[family.full_name] = (family.type, frozenset(family.labels))
    for collector in list(metrics.REGISTRY._collector_to_names):
        if not hasattr(collector, "_labelnames"):
            continue
        labels: tuple[str, ...] = collector._labelnames
        for metric in collector.collect():
            name = f"{metric.name}_total" if metric.type == "counter" else metric.name
            known[name] = (metric.type, frozenset(labels))
    return {name: what for name, what in known.items() if "in_a_test" not in name}


def test_the_page_lists_every_metric_with_its_type_and_labels() -> None:
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    listed = {name: (kind, frozenset(filter(None, labels.split(", ")))) for name, kind, labels in ROW.findall(page)}
    assert listed == _exported()


def test_metrics_that_pages_mention_are_exported() -> None:
    exported = _exported()
    for page in PAGES:
        named = set(re.findall(r"pgqops_\w+", page.read_text(encoding="utf-8")))
        assert named <= set(exported), page.name


def test_every_finding_has_a_page_that_begins_with_its_name() -> None:
    pages = {page.stem: page.read_text(encoding="utf-8") for page in (DOCS / "findings").glob("*.md")}
    assert set(pages) == IDS | {point.ID for point in POINTS}
    for name, text in pages.items():
        assert text.startswith(f"# {name} (")
        assert "**What to do**: " in text
