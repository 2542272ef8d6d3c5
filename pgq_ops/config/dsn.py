"""Showing a DSN without its secrets, and knowing them so that they can be taken out of other texts.

libpq takes a DSN as a URI or as `key=value` pairs (conninfo_uri_parse_options and conninfo_parse in
fe-connect.c). What it would refuse, or read otherwise than its author meant (a raw @ or / in the password, a
blank in one without quotes), is masked whole, for libpq then quotes parts of the password in its errors.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from pgq_ops.masking import MASK

SECRET_KEYWORDS = frozenset({"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"})
_OTHERS = """
    application_name channel_binding client_encoding connect_timeout dbname fallback_application_name
    gssdelegation gssencmode gsslib host hostaddr keepalives keepalives_count keepalives_idle keepalives_interval
    krbsrvname load_balance_hosts max_protocol_version min_protocol_version oauth_client_id oauth_issuer
    oauth_scope options passfile port replication require_auth requirepeer requiressl service servicefile ssl
    ssl_max_protocol_version ssl_min_protocol_version sslcert sslcertmode sslcompression sslcrl sslcrldir sslkey
    sslkeylogfile sslmode sslnegotiation sslrootcert sslsni target_session_attrs tcp_user_timeout user
"""
_KNOWN = SECRET_KEYWORDS.union(_OTHERS.split())

_SCHEME = re.compile(r"postgres(?:ql)?://")
_HOST = r"(?:\[[^\]/?]*\]|[^:/?,\[\]]*)(?::\d*)?"
_AFTER_USER = re.compile(rf"{_HOST}(?:,{_HOST})*(?:/[^?]*)?(?:\?(?P<query>.*))?", re.DOTALL)
_PAIR = re.compile(
    r"\s*+(?P<key>[^\s=]++)\s*+=\s*+(?:'(?P<quoted>(?:[^'\\]|\\.)*+)'|(?P<bare>(?!')(?:[^\s\\]|\\.)++)|$)(?=\s|$)",
    re.DOTALL,
)
_DELIMITERS = re.compile(r"[\s/@:?#&=,'\"\\]+")

_Span = tuple[int, int]


def mask_dsn(text: str) -> str:
    """Return a DSN with each password replaced by ***, or *** alone where it cannot be read safely."""
    spans = _secret_spans(text)
    if spans is None:
        return MASK
    masked, at = "", 0
    for start, end in spans:
        masked += text[at:start] + MASK
        at = end
    return masked + text[at:]


def secrets_in(dsn: str) -> tuple[str, ...]:
    """Return the texts that must not appear anywhere, longest first: raw, decoded, and as repr() writes them.

    Of a DSN that cannot be read safely these are all its parts; single letters with the quotes in which libpq
    shows them.
    """
    spans = _secret_spans(dsn)
    if spans is None:
        parts = set(_DELIMITERS.split(dsn)) - _KNOWN - {"", "postgres", "postgresql"}
        raw = {dsn, *(part if len(part) > 1 else f'"{part}"' for part in parts)}
    else:
        raw = {dsn[start:end] for start, end in spans}
    is_uri = _SCHEME.match(dsn) is not None
    decoded = {unquote(text) if is_uri else re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) for text in raw}
    written = {repr(text)[1:-1] for text in raw | decoded}
    return tuple(sorted((raw | decoded | written) - {""}, key=lambda text: (-len(text), text)))


def _secret_spans(dsn: str) -> list[_Span] | None:
    """Return where the secrets are, in order, None where the DSN cannot be read safely."""
    return _in_uri(dsn) if _SCHEME.match(dsn) else _in_pairs(dsn)


def _in_uri(dsn: str) -> list[_Span] | None:
    start = dsn.index("//") + 2
    at = dsn.find("@", start)
    slash = dsn.find("/", start)
    spans: list[_Span] = []
    if at != -1 and (slash == -1 or at < slash):
        colon = dsn.find(":", start, at)
        if colon != -1:
            spans.append((colon + 1, at))
        start = at + 1
    match = _AFTER_USER.fullmatch(dsn, start)
    if match is None or "@" in dsn[start:]:
        return None
    position = match.start("query")
    for parameter in match["query"].split("&") if match["query"] else ():
        key, equals, _ = parameter.partition("=")
        if not equals or unquote(key) not in _KNOWN:
            return None
        if unquote(key) in SECRET_KEYWORDS:
            spans.append((position + len(key) + 1, position + len(parameter)))
        position += len(parameter) + 1
    return spans


def _in_pairs(dsn: str) -> list[_Span] | None:
    spans: list[_Span] = []
    position, end = 0, len(dsn.rstrip())
    while position < end:
        match = _PAIR.match(dsn, position)
        if match is None or match["key"] not in _KNOWN:
            return None
        value = "quoted" if match["quoted"] is not None else "bare"
        if match["key"] in SECRET_KEYWORDS and match[value]:
            spans.append(match.span(value))
        position = match.end()
    return spans
