"""What a finding says, and the form in which the schema keeps it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pgq_ops import logs

# Characters. A queue's name can have thousands, and a remedy an index for each of a thousand partitions.
_LONGEST_VALUE = 500
_LONGEST_SUMMARY = 5_000
_LONGEST_REMEDY = 20_000


@dataclass(frozen=True, slots=True)
class Saying:
    """What a finding says at one moment. `evidence` holds plain JSON values."""

    severity: str
    summary: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    remedy: str = ""

    def storable(self) -> Saying:
        """The same without secrets, bounded, and without what PostgreSQL's text and JSON cannot hold."""
        summary = _text(self.summary, _LONGEST_SUMMARY)
        return Saying(self.severity, summary, _value(self.evidence), _whole_lines(self.remedy))


def _value(value: Any) -> Any:  # noqa: ANN401 (any JSON value)
    """The value as jsonb can hold it: a number that JSON lacks is null."""
    if isinstance(value, Mapping):
        return {_text(str(key), _LONGEST_VALUE): _value(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_value(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    return _text(str(value), _LONGEST_VALUE)


def _text(text: str, longest: int) -> str:
    clean = logs.masked(text).replace("\0", "").encode(errors="replace").decode()
    return clean if len(clean) <= longest else f"{clean[: longest - 1]}…"


def _whole_lines(remedy: str) -> str:
    """The remedy; a very long one without its last lines, and saying so: half a statement must not be pasted."""
    clean = _text(remedy, max(len(remedy), 1))
    if len(clean) <= _LONGEST_REMEDY:
        return clean
    kept = clean[:_LONGEST_REMEDY].rpartition("\n")[0]
    return f"{kept}\n-- and more, which was not kept: `pgq-ops inspect` prints all of it while it is there"
