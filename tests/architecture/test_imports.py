"""Who may import whom: `.importlinter` has the layers, here is what it can't say."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.architecture.source import (
    PACKAGES,
    ROOT,
    SourceFile,
    against,
    files,
    imported_modules,
    imports_in_functions,
    names_used,
)

ON_SPARK = {"pyspark_hooks", "spark", "statements"}
"""Rooms that import PySpark; below them nothing does."""
"""What of the API is about sessions and frames alone; `iceberg_spark` loads it when asked."""

ALL = files(*PACKAGES)
OURS = files("iceberg_spark")

IMPORT_WITHOUT_PYSPARK = """
import importlib, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ModuleNotFoundError(f"{name} is not to be imported here", name=name)

sys.meta_path.insert(0, Blocker())
for module in sys.argv[1:]:
    importlib.import_module(module)
"""


def test_import_linter_is_content():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_import_inside_a_function():
    assert against(lambda file: imports_in_functions(file.tree), ALL) == {}


def test_no_import_is_hidden_behind_type_checking():
    assert against(lambda file: "TYPE_CHECKING" in names_used(file.tree), ALL) == {}


def test_nothing_imports_the_facade_above_it():
    below = tuple(file for file in OURS if file.module.split(".")[1:2] != ["cli"])
    assert against(lambda file: "iceberg_spark" in imported_modules(file.tree), below) == {}


def test_spec_and_errors_use_the_standard_library_only():
    allowed = {*sys.stdlib_module_names, "iceberg_spark"}
    core = [
        f
        for f in files("iceberg_spark")
        if f.module.startswith(("iceberg_spark.spec", "iceberg_spark.errors"))
    ]
    foreign = {
        file.path: others
        for file in core
        if (others := {name.partition(".")[0] for name in imported_modules(file.tree)} - allowed)
    }
    assert len(core) > 5
    assert foreign == {}


def test_core_is_importable_without_pyspark():
    modules = [f.module for f in files("iceberg_spark") if not needs_pyspark(f.module)]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_WITHOUT_PYSPARK, *modules],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "iceberg_spark" in modules
    assert done.returncode == 0, done.stderr


def test_every_module_beside_the_package_can_be_imported():
    """What no test runs, as sections of the benchmarks, would break unnoticed."""
    modules = sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "benchmarks").glob("*.py")
    )
    lines = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    done = subprocess.run(
        [sys.executable, "-c", lines, *modules],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "benchmarks.run" in modules
    assert done.returncode == 0, done.stderr


def needs_pyspark(module: str) -> bool:
    # These are loaded where PySpark is there.
    examined = {"api.register", "checkup.session"}
    room, _, _ = module.removeprefix("iceberg_spark.").partition(".")
    return room in ON_SPARK or module.removeprefix("iceberg_spark.") in examined


def test_a_package_inside_holds_a_docstring_only():
    packages = [file for file in OURS if file.path.endswith("__init__.py")]
    assert against(lambda file: not ast.get_docstring(file.tree), packages) == {}
    inside = [file for file in packages if file.module != "iceberg_spark"]
    assert len(inside) > 20
    assert against(lambda file: [*map(type, file.tree.body)] != [ast.Expr], inside) == {}


def test_an_import_inside_a_function_is_found():
    hidden = ast.parse("def f():\n    if True:\n        from os import path")
    assert imports_in_functions(hidden) == ["f imports on line 3"]


def dependencies(requirements: list[str]) -> set[str]:
    return {requirement.partition(">")[0].replace("-", "_") for requirement in requirements}


def third_parties(room: tuple[SourceFile, ...]) -> set[str]:
    imported = {
        name.replace("backports.zstd", "backports_zstd").partition(".")[0]
        for file in room
        for name in imported_modules(file.tree)
    }
    return imported - {*sys.stdlib_module_names, *PACKAGES, "pyspark", "py4j"}


def test_every_runtime_import_is_a_declared_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = dependencies(project["dependencies"])
    backported = {"backports", "compression"}  # backports.zstd is the standard library's of 3.14
    cli = files("iceberg_spark/cli")
    others = tuple(file for file in files(*PACKAGES) if file not in cli)
    assert third_parties(others) <= declared | backported | {"backports_zstd", "grpc"}
    assert third_parties(cli) <= declared | dependencies(project["optional-dependencies"]["cli"])


def test_storage_is_made_in_one_place():
    makers = [
        file.path
        for file in files("iceberg_spark")
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "FsspecIO"
    ]
    assert set(makers) == {"iceberg_spark/io/fsspec_io.py", "iceberg_spark/io/storage.py"}


LAID_OUT_BY_VERSION = {
    "iceberg_spark/manifest/schemas.py",
    "iceberg_spark/spec/format_version.py",
}


def compared_versions(file: SourceFile) -> list[str]:
    """Comparisons of a format version with a number."""
    return [
        ast.unparse(node)
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Compare)
        and ast.unparse(node.left).endswith("format_version")
        and isinstance(node.comparators[0], ast.Constant)
        and isinstance(node.comparators[0].value, int)
    ]


def test_format_versions_are_compared_in_one_place():
    """Elsewhere code asks what a version has: `metadata.rules.has_delete_files`."""
    assert set(against(compared_versions, OURS)) <= LAID_OUT_BY_VERSION
