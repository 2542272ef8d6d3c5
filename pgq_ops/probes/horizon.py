"""What keeps VACUUM from removing dead rows of this database's tables, and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.metrics import Family
from pgq_ops.stats import horizon
from pgq_ops.stats.steady_horizon import SteadyHorizon

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pgq_ops.db.connection import Connection
    from pgq_ops.metrics import Sample
    from pgq_ops.probes.database_memory import DatabaseMemory

AGE = Family(
    "horizon_age_xids",
    "Transactions begun since the oldest one of whose dead rows VACUUM removes none; 0 when nothing holds it back.",
    ("database",),
)
HOLDERS = Family("horizon_holders", "Who holds the horizon back just now, by kind.", ("database", "kind"))
HOLDER_SECONDS = Family(
    "horizon_holder_seconds",
    "How long the oldest of each kind has held the horizon back; 0 without any, absent where that is not known.",
    ("database", "kind"),
)
CATALOG_XMIN_AGE = Family(
    "catalog_xmin_age_xids",
    "Transactions for which logical slots hold back the system catalogs (no user's table); 0 without any.",
    ("database",),
)
VISIBILITY = Family(
    "session_visibility",
    "1 where every session's state and times are told; at 0 what depends on them is absent.",
    ("database",),
)


class Horizon:
    """The probe."""

    name = "horizon"
    families = (AGE, HOLDERS, HOLDER_SECONDS, CATALOG_XMIN_AGE, VISIBILITY)
    every_seconds = 0.0

    def collect(self, connection: Connection, memory: DatabaseMemory) -> Iterable[Sample]:
        """Look at the holders; leaves them in the memory as they are to be judged, and exports them as they are."""
        found = horizon.read(connection)
        steady: SteadyHorizon = memory.kept.setdefault(self.name, SteadyHorizon())
        memory.horizon = steady.judged(found, memory.now())
        return list(_samples(found, memory.database))


def _samples(found: horizon.Horizon, database: str) -> Iterator[Sample]:
    yield VISIBILITY.sample(found.all_told, database)
    if found.standby:
        return  # what its sessions hold back, they hold back on the primary
    yield AGE.sample(found.age_xids, database)
    yield CATALOG_XMIN_AGE.sample(found.catalog_xmin_age or 0, database)
    for kind in horizon.KINDS:
        ages = [holder.seconds for holder in found.holders if holder.kind == kind]
        yield HOLDERS.sample(len(ages), database, kind)
        known = [seconds for seconds in ages if seconds is not None]
        # One that is not known may be the oldest.
        if len(known) == len(ages):
            yield HOLDER_SECONDS.sample(max(known, default=0.0), database, kind)
