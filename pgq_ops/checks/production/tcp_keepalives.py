"""A worker whose machine vanished is noticed by the server."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.role_judgement import RoleJudgement, alter_roles, judge_roles, named, shown
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.worker_roles import WorkerRole

ID = "tcp-keepalives"
TITLE = "A worker whose machine vanished is noticed within minutes"

_LISTEN = "listen_addresses"
_IDLE = "idle_in_transaction_session_timeout"
# What 0 stands for on Linux, tcp(7): tcp_keepalive_time in s, tcp_keepalive_intvl in s, tcp_keepalive_probes.
_DEFAULTS = {"tcp_keepalives_idle": 7200.0, "tcp_keepalives_interval": 75.0, "tcp_keepalives_count": 9.0}
# A lease of the articles' length: who is noticed later holds his row lock beyond it, and no reaper can take the job.
_LONGEST_SECONDS = 300.0
# A sentence tells of the first ones.
_MOST_NAMED = 3


def check(examination: Examination) -> Verdict:
    """A warning; none where nobody can come from another machine, or idle transactions are ended in time anyway."""
    judgement = judge_roles(examination, _is_late, steadily=True)
    if not isinstance(judgement, RoleJudgement):
        return judgement
    if not judgement.bad:
        return passed("; ".join(dict.fromkeys(map(_why_passed, judgement.judged[:_MOST_NAMED]))))
    longest = max(_noticed_after(role) or 0.0 for role in judgement.bad)
    remedy = alter_roles(
        examination,
        judgement.bad,
        *("tcp_keepalives_idle = 60", "tcp_keepalives_interval = 10", "tcp_keepalives_count = 3"),
        "client_connection_check_interval = '10s'",
    )
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"the server notices only after {format_duration(longest)} that the machine of a worker of"
            f" {named(judgement.bad)} is gone; until then its open transaction holds its row locks",
            {"roles": {role.name: {name: shown(role, name) for name in _DEFAULTS} for role in judgement.bad}},
            f"-- for new sessions; the last one also ends statements whose client is gone:\n{remedy}",
        )
    )


def _noticed_after(role: WorkerRole) -> float | None:
    """Seconds until a silent connection is given up; None where it is not known."""
    known = {name: role.settings[name].seconds for name in _DEFAULTS if name in role.settings}
    if None in known.values():
        return None
    idle, interval, count = (known.get(name) or default for name, default in _DEFAULTS.items())
    return idle + interval * count


def _idle_bound(role: WorkerRole) -> float:
    setting = role.settings.get(_IDLE)
    return (setting.seconds or 0.0) if setting is not None else 0.0


def _is_late(role: WorkerRole) -> bool | None:
    if 0 < _idle_bound(role) <= _LONGEST_SECONDS or _is_local(role):
        return False
    after = _noticed_after(role)
    return None if after is None else after > _LONGEST_SECONDS


def _is_local(role: WorkerRole) -> bool:
    """Whether all its sessions are on this machine, whose kernel tells at once that a process died."""
    setting = role.settings.get(_LISTEN)
    if setting is None or setting.value is None:
        return False
    addresses = [address.strip() for address in setting.value.strip("'\"").split(",")]
    return all(not address or address == "localhost" or _is_loopback(address) for address in addresses)


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _why_passed(role: WorkerRole) -> str:
    if _is_local(role):
        return f"the server listens on this machine alone ({_LISTEN} = '{role.settings[_LISTEN].value}')"
    if 0 < _idle_bound(role) <= _LONGEST_SECONDS:
        return f"{role.name}: an idle transaction is ended after {format_duration(_idle_bound(role))}, whoever is gone"
    return f"{role.name}: noticed within {format_duration(_noticed_after(role) or 0.0)}"
