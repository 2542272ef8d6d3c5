"""How a command ends."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import pytest

from pgq_ops import errors, logs
from pgq_ops.cli.ending import INTERNAL_ERROR, exit_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def _no_secrets_left() -> Iterator[None]:
    yield
    logs._secrets.clear()


def raising(error: BaseException) -> Callable[[], NoReturn]:
    def command() -> NoReturn:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (errors.UsageError("no such thing"), 2, "Error: no such thing\n"),
        (errors.ConfigError((errors.Problem("a.b", "is wrong", "did you mean c?"),)), 2, "a.b: is wrong (did you mean"),
        (errors.NotInstalled("run install"), 2, "Error: run install\n"),
        (errors.DatabaseUnreachable("no server"), 3, "Error: no server\n"),
        (errors.NotPermitted("may not read", "GRANT SELECT"), 3, "Error: may not read\n  GRANT SELECT\n"),
        (errors.ActionFailed("half done"), 4, "Error: half done\n"),
        (ZeroDivisionError("oops\nmore"), 4, "internal error: ZeroDivisionError: oops more (set PGQ_OPS_DEBUG=1 for"),
        (RuntimeError(), 4, "internal error: RuntimeError (set PGQ_OPS_DEBUG=1 for details)\n"),
    ],
)
def test_an_error_is_one_message_and_its_exit_code(
    capsys: pytest.CaptureFixture[str], error: Exception, code: int, message: str
) -> None:
    assert exit_code(raising(error)) == code
    out, told = capsys.readouterr()
    assert out == ""
    assert message in told
    assert "Traceback" not in told


def test_details_of_an_internal_error_are_told_on_demand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGQ_OPS_DEBUG", "1")
    assert exit_code(raising(KeyError("hunter2"))) == 4
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("debug", ["", "1"])
def test_a_secret_is_masked_in_every_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, debug: str
) -> None:
    monkeypatch.setenv("PGQ_OPS_DEBUG", debug)
    logs.register_secrets(["hunter2"])
    for error in (errors.DatabaseUnreachable("no: hunter2"), ValueError("hunter2"), KeyError("hunter2")):
        exit_code(raising(error))
    told = capsys.readouterr().err
    assert "***" in told
    assert "hunter2" not in told.replace('KeyError("hunter2")', "").replace('ValueError("hunter2")', "")


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (SystemExit(0), 0), (SystemExit(1), 1), (SystemExit(None), 0)]
)
def test_an_interruption_and_an_ordinary_end_are_quiet(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    assert exit_code(raising(error)) == code
    assert capsys.readouterr() == ("", "")


def test_a_command_that_ends_well_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(lambda: None) == 0
    assert capsys.readouterr() == ("", "")


def test_without_a_stdout_a_command_ends_as_it_would_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert exit_code(lambda: None) == 0


def test_without_a_stderr_what_went_wrong_does_not_go_to_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert exit_code(lambda: 1 / 0) == INTERNAL_ERROR
    assert capsys.readouterr().out == ""
