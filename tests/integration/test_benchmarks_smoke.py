from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from benchmarks.figures import Figures, Series, Target, percentile
from benchmarks.printing import print_figures, print_total
from benchmarks.registry import BENCHMARKS
from benchmarks.scale import Scale
from benchmarks.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

# What a benchmark claims that is no question of speed: it must hold on the smallest table too.
ALWAYS = ("left behind", "an age was given", "most connections")


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with Stage(Scale(rows=2_000, effort=0.01)) as started:
        yield started


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_measures_on_a_small_scale_what_it_says(stage: Stage, name: str) -> None:
    figures = BENCHMARKS[name](stage)
    assert figures.targets
    assert len({series.name for series in figures.series}) == len(figures.series)
    assert all(math.isfinite(value) and value >= 0 for series in figures.series for value in series.values)
    missed = [target.name for target in figures.targets if not target.reached]
    assert not [name for name in missed if any(words in name for words in ALWAYS)]


def test_the_table_says_which_numbers_were_reached(capsys: pytest.CaptureFixture[str]) -> None:
    series = Series.of("a claim", "ms", [3.0, 1.0, 2.0])
    targets = (Target("claim", 2.0, 2.0, "ms"), Target("speed", 39.9, 40, "%", at_most=False))
    figures = Figures("claims", (series,), targets)
    print_figures("some", figures, 1.0)
    print_total([figures])
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "a claim 2 ms 1 to 3 3" in said
    assert "claim <= 2 ms 2 ms reached" in said
    assert "speed >= 40 % 39.9 % NOT REACHED" in said
    assert said[-2:] == ["1 of 2 reached", "not reached: speed >= 40 %: 39.9 %"]


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (0.991, 100), (0.0, 1)])
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    assert percentile(range(100, 0, -1), share) == value


def test_nothing_measured_is_no_series() -> None:
    with pytest.raises(ValueError, match="nothing was measured: x"):
        Series.of("x", "s", [])
