from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from pgq_ops.config.dsn import mask_dsn, secrets_in

PASSWORD = r"p@:#%/?&'\ w"  # noqa: S105  # every character of case C2
QUOTED = PASSWORD.replace("\\", "\\\\").replace("'", "\\'")
ENCODED = quote(PASSWORD, safe="")


@pytest.mark.case("C2")
@pytest.mark.parametrize(
    ("dsn", "masked"),
    [
        (f"postgresql://u:{ENCODED}@db:5432/app", "postgresql://u:***@db:5432/app"),
        (f"postgres://u:{ENCODED}@a,b:1/app?sslmode=require", "postgres://u:***@a,b:1/app?sslmode=require"),
        (f"postgresql://u:{ENCODED}@[::1]:5432", "postgresql://u:***@[::1]:5432"),
        (f"postgresql://db/app?user=u&password={ENCODED}&port=1", "postgresql://db/app?user=u&password=***&port=1"),
        (f"postgresql:///app?pass%77ord={ENCODED}", "postgresql:///app?pass%77ord=***"),
        (f"postgresql://u:{ENCODED}@db?sslpassword={ENCODED}", "postgresql://u:***@db?sslpassword=***"),
        (f"host=db password='{QUOTED}' user=u", "host=db password='***' user=u"),
        (f"password = '{QUOTED}'", "password = '***'"),
        ("password=" + QUOTED.replace(" ", "\\ ") + " host=db", "password=*** host=db"),
        (f"host=db sslpassword='{QUOTED}' passfile=/p", "host=db sslpassword='***' passfile=/p"),
    ],
)
def test_a_password_is_masked_and_known_in_each_form(dsn: str, masked: str) -> None:
    assert mask_dsn(dsn) == masked
    assert PASSWORD in secrets_in(dsn)
    assert any(secret in dsn for secret in secrets_in(dsn))


@pytest.mark.parametrize(
    "dsn",
    [
        "",
        "host=db user=u",
        "postgresql://",
        "postgresql://db",
        "postgresql://u@db:5432,other/app?sslmode=require",
        "postgresql://[::1]:5432/app",
        "postgresql://%2Fvar%2Frun/app",
        "host=/run dbname='a b' passfile=/p require_auth=password",
        "service=app",
    ],
)
def test_a_dsn_without_secrets_is_shown_as_it_is(dsn: str) -> None:
    assert mask_dsn(dsn) == dsn
    assert secrets_in(dsn) == ()


@pytest.mark.case("C2")
@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:hun@ter2@db/app",
        "postgresql://u:hun/ter2@db/app",
        "postgresql://u:hun/ter2?@db/app",
        "postgresql://u:hunter2",
        "postgresql://u:hunter2/db",
        "postgresql://db/app?passwort=hunter2",
        "postgresql://db/app?hunter2",
        "postgresql://u:p@db/app?user=hunter2@x",
        "POSTGRESQL://u:hunter2@db/app",
        "postgresql+psycopg://u:hunter2@db/app",
        " postgresql://u:hunter2@db/app",
        "jdbc:postgresql://db/app?password=hunter2",
        "host=db password=hun ter2",
        "host=db password=hun ter=2",
        "host=db password='hunter2",
        "host=db password='hun'ter2",
        "password= 'a=b hunter2=c",
        "host=db passwort=hunter2",
        "PASSWORD=hunter2",
        "password=hunter2\\",
        "=hunter2",
        "hunter2",
    ],
)
def test_a_dsn_that_cannot_be_read_safely_is_masked_whole_and_all_its_parts_are_secret(dsn: str) -> None:
    assert mask_dsn(dsn) == "***"
    for part in {"hunter2", "hun", "ter2"} & set(re.findall(r"\w+", dsn)):
        assert part in secrets_in(dsn)
    assert dsn in secrets_in(dsn)


def test_secrets_come_longest_first_in_each_form_in_which_they_may_be_printed() -> None:
    assert secrets_in("postgresql://u:a%5Cb@db?sslpassword=longer-one") == ("longer-one", "a%5Cb", "a\\\\b", "a\\b")


def test_an_empty_password_is_none() -> None:
    assert secrets_in("postgresql://u:@db") == ()
    assert secrets_in("host=db password=''") == ()
