"""The wheel, built and installed as a user gets it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "pgq_ops"
SOURCES = {"pgq_ops", "dashboards", "alerts", "pyproject.toml", "README.md", "LICENSE"}
DATA = ("sql/**/*.sql", "demo/**/*.sql", "demo/*.sh", "presets/*.toml", "assets/*/**/*", "py.typed")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the package, installed from a wheel of the working tree, without its dependencies."""
    work = tmp_path_factory.mktemp("wheel")
    # A copy: setuptools would leave its build folder in the tree, and take stale files from it.
    tree = work / "tree"
    shutil.copytree(PROJECT, tree, symlinks=True, ignore=_all_but_sources)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", work, tree], check=True)
    [wheel] = work.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", work / "site", wheel], check=True)
    return work / "site"


def _all_but_sources(folder: str, names: list[str]) -> set[str]:
    return set(names) - SOURCES if Path(folder) == PROJECT else {"__pycache__"}


@pytest.mark.parametrize("pattern", DATA)
def test_the_wheel_has_the_same_data_files_as_the_tree(installed: Path, pattern: str) -> None:
    def files(package: Path) -> set[str]:
        return {str(path.relative_to(package)) for path in package.glob(pattern) if path.is_file()}

    assert files(PACKAGE)
    assert files(installed / "pgq_ops") == files(PACKAGE)


@pytest.mark.parametrize("folder", ["dashboards", "alerts"])
def test_top_level_assets_are_in_the_wheel_as_plain_files(installed: Path, folder: str) -> None:
    inside = installed / "pgq_ops" / "assets" / folder
    assert not inside.is_symlink()
    wanted = {str(path.relative_to(PROJECT / folder)) for path in (PROJECT / folder).rglob("*") if path.is_file()}
    assert {str(path.relative_to(inside)) for path in inside.rglob("*") if path.is_file()} == wanted


def test_nothing_but_the_package_is_installed(installed: Path) -> None:
    names = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert names == {"pgq_ops", "bin"}


def test_the_installed_command_answers_without_the_source_tree(installed: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-P", str(installed / "bin" / "pgq-ops"), "--version"]
    environment = {"PYTHONPATH": f"{installed}:{sysconfig.get_path('purelib')}"}
    answer = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "0.1.0" in answer.stdout
