"""How much a role may do. Imports nothing, so that the command line can list the tiers at once."""

from enum import StrEnum


class Tier(StrEnum):
    """One step of privileges; each holds `observe`, and none holds another."""

    OBSERVE = "observe"
    REAP = "reap"
    DEAD = "dead"
    VACUUM = "vacuum"
    TUNE = "tune"
    RETIRE = "retire"
    TRANSACTIONS = "transactions"
