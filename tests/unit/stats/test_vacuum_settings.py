"""A table's storage parameters win over the server's settings, by PostgreSQL's own rules."""

from __future__ import annotations

import pytest

from pgq_ops.stats.vacuum_settings import VacuumSettings

SERVER = VacuumSettings()


def threshold(rows: float, *parameters: str, server: VacuumSettings = SERVER) -> float:
    return server.of_table(parameters).threshold_rows(rows)


@pytest.mark.parametrize(
    ("rows", "parameters", "dead"),
    [
        (1_000_000, (), 200_050),
        (3, (), 50.6),
        (0, (), 50),
        (-1, (), 50),
        (1_000_000, ("autovacuum_vacuum_scale_factor=0", "autovacuum_vacuum_threshold=500"), 500),
        (1_000_000, ("fillfactor=70", "autovacuum_vacuum_scale_factor=0.01"), 10_050),
        (1_000_000, ("autovacuum_vacuum_threshold=0x10",), 200_016),
        (0, ("autovacuum_vacuum_threshold=0",), 0),
    ],
)
def test_the_threshold_grows_with_the_rows_by_the_table_s_own_parameters(
    rows: float, parameters: tuple[str, ...], dead: float
) -> None:
    assert threshold(rows, *parameters) == pytest.approx(dead)


def test_the_highest_threshold_caps_and_a_table_may_have_its_own_or_none() -> None:
    server = VacuumSettings(max_threshold=100_000)
    assert threshold(1_000_000, server=server) == 100_000
    assert threshold(1_000, server=server) == 250
    assert threshold(1_000_000, "autovacuum_vacuum_max_threshold=7000", server=server) == 7_000
    assert threshold(1_000_000, "autovacuum_vacuum_max_threshold=-1", server=server) == 200_050
    assert threshold(1_000_000, "autovacuum_vacuum_max_threshold=0", server=server) == 0


@pytest.mark.parametrize("text", ["off", "OFF", "false", "fal", "f", "no", "n", "0", "of"])
def test_every_way_to_write_off_is_off(text: str) -> None:
    assert not SERVER.of_table([f"autovacuum_enabled={text}"]).enabled


@pytest.mark.parametrize("text", ["on", "true", "t", "yes", "1"])
def test_what_is_on_stays_on_unless_the_server_s_is_off(text: str) -> None:
    assert SERVER.of_table([f"autovacuum_enabled={text}"]).enabled
    assert not VacuumSettings(enabled=False).of_table([f"autovacuum_enabled={text}"]).enabled


def test_a_table_can_be_frozen_earlier_than_the_server_says_and_not_later() -> None:
    earlier = SERVER.of_table(["autovacuum_freeze_max_age=100000", "autovacuum_multixact_freeze_max_age=200000"])
    assert (earlier.freeze_max_age, earlier.multixact_freeze_max_age) == (100_000, 200_000)
    later = SERVER.of_table(["autovacuum_freeze_max_age=900000000", "autovacuum_multixact_freeze_max_age=900000000"])
    assert (later.freeze_max_age, later.multixact_freeze_max_age) == (200_000_000, 400_000_000)
