"""What every section of the configuration has in common."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


class Section(BaseModel):
    """A frozen part of the configuration that refuses unknown keys and converts nothing silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)

    shorthand: ClassVar[frozenset[type]] = frozenset()
    """TOML types that may stand for the whole section, as "id" does for a column. Such a section is one
    value: a later source replaces it whole, where other sections are merged key by key."""

    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Keys of the file whose field has another name."""

    computed: ClassVar[frozenset[str]] = frozenset()
    """Fields that the loader works out; no keys of the file."""

    @classmethod
    def toml_keys(cls) -> dict[str, str]:
        """Return the keys that the file may hold, each with the name of its field."""
        fields = {name: name for name in cls.model_fields if name not in {*cls.renamed.values(), *cls.computed}}
        return {**cls.renamed, **fields}

    def overlaid(self, over: Self) -> Self:
        """Return this section with the keys that `over` was given on top."""
        update: dict[str, object] = {}
        for name in over.model_fields_set:
            mine, theirs = getattr(self, name), getattr(over, name)
            merge = isinstance(mine, Section) and isinstance(theirs, Section) and not theirs.shorthand
            update[name] = mine.overlaid(theirs) if merge else theirs
        return self.model_copy(update=update)


def refusal(what: str, hint: str = "") -> PydanticCustomError:
    """Make the error by which a validator says what is wrong and what would be right.

    Neither may repeat a value that could be a secret.
    """
    return PydanticCustomError("refusal", "{what}", {"what": what, "hint": hint})
