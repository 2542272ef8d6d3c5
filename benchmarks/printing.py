"""Figures as a table that fits 120 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.figures import Figures, Series, Target

_NAME = 74


def print_figures(name: str, figures: Figures, seconds: float) -> None:
    """Print one benchmark's measurements, then its targets; `seconds` is how long it took in all."""
    print(f"\n{name}: {figures.about} ({seconds:.0f} s)")
    print(f"  {'measured':{_NAME}} {'median':>12}  {'least to most':<22}  n")
    for series in figures.series:
        amount = _amount(series.median, series.unit)
        print(f"  {series.name:{_NAME}} {amount:>12}  {_spread(series):<22} {len(series.values):>2}")
    print(f"  {'to reach':{_NAME}} {'measured':>12}")
    for target in figures.targets:
        print(f"  {_limit(target):{_NAME}} {_amount(target.measured, target.unit):>12}  {_verdict(target)}")


def print_total(figures: list[Figures]) -> None:
    """Print how many targets were reached, and which were not."""
    targets = [target for one in figures for target in one.targets]
    missed = [target for target in targets if not target.reached]
    print(f"\n{len(targets) - len(missed)} of {len(targets)} reached")
    for target in missed:
        print(f"  not reached: {_limit(target)}: {_amount(target.measured, target.unit)}")


def _limit(target: Target) -> str:
    return f"{target.name} {'<=' if target.at_most else '>='} {_amount(target.limit, target.unit)}"


def _verdict(target: Target) -> str:
    return "reached" if target.reached else "NOT REACHED"


def _spread(series: Series) -> str:
    return f"{_number(min(series.values))} to {_number(max(series.values))}"


def _amount(value: float, unit: str) -> str:
    return f"{_number(value)} {unit}".strip()


def _number(value: float) -> str:
    """Three digits that count."""
    if value == int(value) or abs(value) >= 100:  # noqa: PLR2004 (from here on the whole number has three digits)
        return f"{value:,.0f}"
    return f"{value:.3g}"
