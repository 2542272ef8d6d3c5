"""The configuration from all its sources: defaults < preset < file < environment < flags."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pgq_ops.config.consistency import contradictions
from pgq_ops.config.environment import read_environment, read_text
from pgq_ops.config.file import read
from pgq_ops.config.job_table import TASK_SECTIONS, JobTableConfig
from pgq_ops.config.leaves import leaves
from pgq_ops.config.model import Config
from pgq_ops.config.presets import preset_names, read_preset
from pgq_ops.config.schema import KeyPath, child, dotted
from pgq_ops.config.sources import Merged, Setting, merge, settings_of
from pgq_ops.config.validation import did_you_mean, readable_tables, validate
from pgq_ops.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE_VARIABLE = "PGQ_OPS_CONFIG"
# What other sections ask for is checked, and noted as not done, until a version does it.
_CARRIED_OUT = frozenset({"reaper", "autovacuum"})
DEFAULT_FILE = Path("pgq-ops.toml")


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The configuration, and where it came from.

    `origins` holds, for the dotted key of each value, `default`, `preset "lease"`, `file pgq-ops.toml`,
    `environment PGQ_OPS_DSN` or `flag --listen`. `notes` are sentences about what is allowed and without effect.
    """

    config: Config
    path: Path | None
    origins: Mapping[str, str]
    notes: tuple[str, ...]

    def preset_columns(self, name: str) -> frozenset[str]:
        """The parts of a job table's `columns` that come from its preset: those it lacks may be left out."""
        columns = self.config.job_tables[name].columns.mapped()
        origins = {part: self.origins[dotted(("job_tables", name, "columns", part))] for part in columns}
        return frozenset(part for part, origin in origins.items() if origin.startswith("preset "))

    @property
    def no_file(self) -> str:
        """Which file was looked for in vain; empty where one was read."""
        return "" if self.path else f"there is no {DEFAULT_FILE} in this folder, and {FILE_VARIABLE} is not set"

    @property
    def no_job_table(self) -> str:
        """What to say where no job table is configured."""
        what = self.no_file or f"add a section [job_tables.NAME] to {self.path}"
        return f"no job table is configured: {what}"


def load(path: Path | None, environment: Mapping[str, str], flags: Mapping[str, object]) -> LoadedConfig:
    """Find, read, merge and validate the configuration.

    `path` is the file the user named, else PGQ_OPS_CONFIG names it, else it is `pgq-ops.toml` where there is one.
    `flags` are values by dotted key, None where a flag was not given. Raises ConfigError with every problem
    found; no message repeats a value that could be a secret.
    """
    path = find_file(path, environment)
    document = read(path) if path else {}
    from_environment, problems = read_environment(environment, document)
    asked = [*settings_of(document, f"file {path}"), *from_environment]
    given = merge([*asked, *_flags(flags)])
    from_presets, unknown = _presets(given)
    # The tables in the order of the file, whichever of them have a preset.
    in_order = [one for one in asked if one.opens_section and one.path[:-1] == ("job_tables",)]
    merged = merge([*in_order, *from_presets, *asked, *_flags(flags)])
    config, invalid, broken = validate(merged)
    problems += [*unknown.values(), *invalid]
    # An unknown preset leaves open what these sections would have held.
    broken |= {(*table, section) for table in unknown for section in ("columns", "states", "lease")}
    tables = {}
    present = merge(asked).raw.get("job_tables")
    for name, table, sections in readable_tables(merged, broken):
        requested = _requested(table, present.get(name) if isinstance(present, dict) else None)
        tables[name] = table.model_copy(update={"requested_tasks": requested})
        for key, what, hint in contradictions(tables[name], sections):
            where = ("job_tables", name, *key)
            problems.append(Problem(dotted(where), what, hint, merged.where(where)))
    if config is None or problems:
        raise ConfigError(tuple(problems))
    config = config.model_copy(update={"job_tables": tables})
    origins = {dotted(key): merged.origins.get(key, "default") for key, _ in leaves(config)}
    return LoadedConfig(config, path, origins, tuple(_notes(config)))


def find_file(path: Path | None, environment: Mapping[str, str]) -> Path | None:
    """Return the file to read, None where nobody named one and the working folder has none."""
    if path is None and environment.get(FILE_VARIABLE):
        path = Path(environment[FILE_VARIABLE])
    return path or (DEFAULT_FILE if DEFAULT_FILE.exists() else None)


def _flags(flags: Mapping[str, object]) -> Iterator[Setting]:
    for key, value in flags.items():
        if value is not None:
            path = tuple(key.split("."))
            schema: object = Config
            for part in path:
                schema = child(schema, part)
            read_value = read_text(value, schema) if isinstance(value, str) else value
            yield Setting(path, read_value, f"flag --{path[-1].replace('_', '-')}")


def _presets(given: Merged) -> tuple[list[Setting], dict[KeyPath, Problem]]:
    """Return what the presets set that job tables name, and the problem of each table that names none there is."""
    settings: list[Setting] = []
    unknown: dict[KeyPath, Problem] = {}
    tables = given.raw.get("job_tables")
    for name, table in tables.items() if isinstance(tables, dict) else ():
        preset = table.get("preset") if isinstance(table, dict) else None
        path = ("job_tables", name)
        if isinstance(preset, str) and preset in preset_names():
            settings.extend(settings_of(read_preset(preset), f'preset "{preset}"', path, JobTableConfig))
        elif isinstance(preset, str):
            key = (*path, "preset")
            hint = did_you_mean(preset, preset_names()) or f"there are {', '.join(preset_names())}"
            unknown[path] = Problem(dotted(key), "there is no such preset", hint, given.where(key))
    return settings, unknown


def _requested(table: JobTableConfig, present: object) -> frozenset[str]:
    """Return the tasks whose section the user wrote, and that are on for the table or for a queue of it."""
    switched_on = {
        "reaper": any(policy.reaper.enabled for policy in table.policies()),
        "retention": table.retention is not None and table.retention.enabled,
        "autovacuum": table.autovacuum is not None and table.autovacuum.enabled,
    }
    written = present if isinstance(present, dict) else {}
    return frozenset(name for name in TASK_SECTIONS if name in written and switched_on[name])


def _notes(config: Config) -> Iterator[str]:
    if config.transactions.action == "terminate" and not config.transactions.end_only:
        yield "transactions.action ends no session: transactions.end_only names none"
    for name, table in config.job_tables.items():
        for policy in table.policies() if table.columns.leased_at is None else ():
            inherited = policy.queue is not None and policy.lease.max_runtime == table.lease.max_runtime
            if policy.lease.max_runtime is not None and not inherited:
                of = () if policy.queue is None else ("queues", policy.queue)
                key = dotted(("job_tables", name, *of, "lease", "max_runtime"))
                yield f"{key} finds no job that runs too long: it counts from columns.leased_at, which is not mapped"
        for section in sorted(table.requested_tasks - _CARRIED_OUT):
            yield f"{dotted(('job_tables', name, section))} is not carried out by this version: nothing is done for it"
