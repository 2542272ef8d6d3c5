"""`why` of the jobs of well-known libraries, whose tables are mapped by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.library_tables import LIBRARIES
from tests.support.why import both

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.library_tables import Library


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_waiting_and_running_jobs_of_a_library_are_told(database: Database, library: Library) -> None:
    database.execute(library.schema)
    database.execute(library.jobs)
    waiting, text = both(database, 1, library.mapping)
    assert (waiting["state"], waiting["line"]) == ("ready", {"ahead": 0, "running": 1})
    assert "It is the first in line (by priority" in text
    assert "still set" not in text
    running, text = both(database, 2, library.mapping)
    assert (running["state"], running["lease"]["condition"]) == ("running", "live")
    assert "\nRunning" in text
    assert "its lease ends in" in text
    assert running["sentences"]
