"""The configuration as single values, each under its path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.config.policy import QueueOverride
from pgq_ops.config.section import Section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.config.schema import KeyPath


def leaves(section: Section, path: KeyPath = (), *, only_given: bool = False) -> Iterator[tuple[KeyPath, object]]:
    """Yield every value of a section with its path; of a queue's override only the keys that were given."""
    for name in type(section).model_fields:
        if name in section.computed or (only_given and name not in section.model_fields_set):
            continue
        value, here = getattr(section, name), (*path, name)
        if isinstance(value, Section) and not value.shorthand:
            yield from leaves(value, here, only_given=only_given)
        elif isinstance(value, dict):
            for key, inner in value.items():
                given = only_given or isinstance(inner, QueueOverride)
                yield from leaves(inner, (*here, key), only_given=given)
        else:
            yield here, value
