"""SQL text that is one expression: it can stand between parentheses without ending what is around it."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from pgq_ops.config.section import refusal

# The lexical rules of PostgreSQL (scan.l), with standard_conforming_strings on, as every session of ours has it.
_WIDE = r"\x80-\U0010ffff"  # all of them letters to PostgreSQL, blanks of other scripts included
_TOKEN = re.compile(
    rf"""
      (?P<blank> \s+ | --[^\r\n]* )
    | (?P<comment> /\* )
    | (?P<escaped> [eE]'(?:[^'\\]|\\.|'')*' )
    | (?P<text> '(?:[^']|'')*' | "(?:[^"]|"")*" )
    | (?P<dollar> \$(?P<tag>(?:[a-zA-Z_{_WIDE}][\w{_WIDE}]*)?)\$.*?\$(?P=tag)\$ )
    | (?P<parameter> \$\d )
    | (?P<word> [\w{_WIDE}][\w${_WIDE}]* )
    | (?P<opening> [(\[] )
    | (?P<closing> [)\]] )
    | (?P<semicolon> ; )
    | (?P<unfinished> ['"] )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_CONTINUED = re.compile(r"(?:\s|--[^\r\n]*)*'")
_COMMENT_MARK = re.compile(r"/\*|\*/")
_CLOSES = {"(": ")", "[": "]"}


def _standing_alone(text: str) -> str:
    open_brackets: list[str] = []
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        found = match[0]
        if match["opening"]:
            open_brackets.append(found)
        elif match["closing"] and (not open_brackets or _CLOSES[open_brackets.pop()] != found):
            raise refusal(f'has a "{found}" that closes nothing', "it must be one SQL expression")
        elif match["escaped"] and _CONTINUED.match(text, position):
            raise refusal("goes on with an E'...' after a blank", "write such a text in one piece")
        elif match["comment"]:
            position = _after_comment(text, position)
        elif match["semicolon"]:
            raise refusal('holds a ";"', "it must be one SQL expression, not a statement")
        elif match["parameter"]:
            raise refusal(f'holds "{found}", a parameter of our own statements', "write the value itself")
        elif match["unfinished"]:
            raise refusal(f"has a {found} without its end", "it must be one SQL expression")
    if open_brackets:
        raise refusal(f'has a "{open_brackets[-1]}" without its end', "it must be one SQL expression")
    return text


def _after_comment(text: str, position: int) -> int:
    """Where the comment ends that began before `position`: such comments can be nested."""
    depth = 1
    while depth:
        mark = _COMMENT_MARK.search(text, position)
        if mark is None:
            raise refusal("has a /* without its end", "it must be one SQL expression")
        depth += 1 if mark[0] == "/*" else -1
        position = mark.end()
    return position


Expression = Annotated[str, Field(min_length=1), AfterValidator(_standing_alone)]
"""The type of an SQL expression or predicate in the configuration."""
