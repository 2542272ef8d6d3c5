from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

ROOT = Path(__file__).parents[2]
# Everything happens at least once; poison jobs would take four leases to die. A machine that also runs the rest of the
# suite gets more time for what has a bound in time.
SHORT = {
    "seconds": 2,
    "calm-seconds": 0.5,
    "kills": 2,
    "terminations": 2,
    "restarts": 1,
    "workers": 8,
    "poison-share": 0,
    "slack-seconds": 10,
}


def test_a_short_soak_kills_agents_sessions_and_the_server_and_no_job_is_harmed(tmp_path: Path) -> None:
    file = tmp_path / "soak.json"
    options = [word for name, value in SHORT.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "soak", *options, "--json", str(file)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found: dict[str, Any] = json.loads(file.read_text())
    assert found["passed"] is True
    assert found["violations"] == []
    troubles = found["troubles"]
    assert troubles["kill -9 of an agent"] == 2
    assert troubles["pg_terminate_backend of an agent's session"] == 2
    assert troubles["immediate shutdown of the server"] == 1
    for table in ("lease", "started"):
        jobs = found[f"job table {table}"]
        assert jobs["completed"] > 0
        assert jobs["taken back"] > 0
        assert found["with nobody killed, by the counters"] == found["with nobody killed, by the log"]
