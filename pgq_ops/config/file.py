"""Reading a configuration file: what is wrong with it is one clear problem, with its line and column."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from pgq_ops.errors import ConfigError, Problem

if TYPE_CHECKING:
    from pathlib import Path

_POSITION = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL)

# What tomllib says, by its beginning, and what to say instead. None repeats text of the file: the broken line
# may be the one with the password.
_EXPLAINED = (
    ("Cannot overwrite a value", "a key is given twice", ""),
    ("Cannot declare", "a table is declared twice", ""),
    ("Duplicate inline table key", "a key is given twice", ""),
    ("Cannot mutate immutable", "a table is declared twice", ""),
    ("Unescaped '\\'", "a backslash that means nothing", r"write \\, or put the text in single quotes"),
    ("Illegal character", "the text is not closed, or holds a character that is not allowed", ""),
    ("Found invalid character", "a character that is not allowed here", ""),
    ("Unterminated", "the file ends within a text", "is it written completely?"),
    ("Expected '='", "a key without a value", 'write key = "value"'),
    ("Invalid value", "no value that TOML knows", "text needs quotes"),
    ("Invalid initial character", "neither a key nor a [section]", ""),
)


def read(path: Path) -> dict[str, Any]:
    """Parse a TOML file. Raises ConfigError, whose message holds nothing of the file's text."""
    text = _read_text(path)
    if not text.strip():
        raise _broken(path, "is empty", "is it written completely?")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(path, text, str(error)) from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, lists a thousand deep
        raise _broken(path, "cannot be read as TOML", "a value is far too large") from None


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise _broken(path, "there is no such file") from None
    except IsADirectoryError:
        raise _broken(path, "is a folder, not a file") from None
    except PermissionError:
        raise _broken(path, "may not be read by this user") from None
    except OSError as error:
        raise _broken(path, f"cannot be read: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig", errors="replace")
        raise _broken(path, "is not UTF-8", "save it as UTF-8", _position(before)) from None


def _position(before: str) -> str:
    line = before.count("\n") + 1
    return f"line {line}, column {len(before) - (before.rfind(chr(10)) + 1) + 1}"


def _not_toml(path: Path, text: str, message: str) -> ConfigError:
    match = _POSITION.fullmatch(message)
    line = match and match["line"]
    position = f"line {line}, column {match['column']}" if match and line else _position(text)
    complaint = match["what"] if match else message
    for beginning, what, hint in _EXPLAINED:
        if complaint.startswith(beginning):
            return _broken(path, what, hint, position)
    at_end = "" if line else "is it written completely?"
    return _broken(path, "is not valid TOML", at_end, position)


def _broken(path: Path, what: str, hint: str = "", position: str = "") -> ConfigError:
    if position:
        return ConfigError((Problem(position, what, hint, str(path)),))
    return ConfigError((Problem(str(path), what, hint),))
