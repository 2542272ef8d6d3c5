"""The systemd unit of the examples: no passing state keeps the agent down for good."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

UNIT = Path(__file__).parents[3] / "examples" / "pgq-ops.service"
# systemd's own: DefaultStartLimitIntervalSec and DefaultStartLimitBurst (systemd-system.conf(5)).
LIMIT_SECONDS, LIMIT_STARTS = 10, 5


def test_the_service_is_started_again_whatever_it_ended_with_and_never_too_often() -> None:
    unit = ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNIT)
    service = unit["Service"]
    assert service["Restart"] == "always"
    assert "RestartPreventExitStatus" not in service, "exit code 2 is also a port that is still held"
    assert int(service["RestartSec"]) * LIMIT_STARTS > LIMIT_SECONDS, "else systemd gives up"
