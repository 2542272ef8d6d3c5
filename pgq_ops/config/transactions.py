"""What is done about sessions whose transactions stay open too long."""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from pgq_ops.config.duration import Interval, PositiveDuration
from pgq_ops.config.section import Section, refusal


class EndOnly(Section):
    """Which sessions may be ended: those that match every key given. `*` and `?` stand for any text."""

    application_name: Annotated[str, Field(min_length=1)] | None = None
    user: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.application_name is None and self.user is None:
            raise refusal("would match every session", "name an application_name, a user or both")
        return self


class Transactions(Section):
    """When a long transaction is a finding, and when its session may be ended."""

    enabled: bool = True
    every: Interval = timedelta(seconds=15)
    warn_after: PositiveDuration = timedelta(minutes=1)
    action: Literal["report", "terminate"] = "report"
    end_after: PositiveDuration = timedelta(minutes=15)
    end_only: Annotated[tuple[EndOnly, ...], Field(strict=False)] = ()

    @property
    def ends_sessions(self) -> bool:
        """Whether the agent is asked to end sessions, and is told which."""
        return self.enabled and self.action == "terminate" and bool(self.end_only)
