"""The methods that the reference describes, and the examples in their docstrings."""

import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import iceberg_spark as ice
from tests.documentation import ROOT

_ENTRY = re.compile(r"^::: (iceberg_spark[\w.]*)$", re.MULTILINE)
_WITHOUT_EXAMPLES = {"UpsertResult.of", "DeleteRewrite.total", "View.uuid"}
"""Methods of results that the library calls itself."""
SCHEMA = pa.schema(
    [("id", pa.int64()), ("region", pa.string()), ("amount", pa.float64()),
     ("ts", pa.timestamp("us", "UTC"))]
)  # fmt: skip


def described_methods() -> dict[str, Callable[..., Any]]:
    """Public functions and methods of the pages of the reference, by their qualified names."""
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    entries = [name for page in pages for name in _ENTRY.findall(page.read_text("utf-8"))]
    found = [method for entry in entries for method in _methods(_object(entry))]
    return {method.__qualname__: method for method in found}


def _object(entry: str) -> Any:
    if hasattr(ice, name := entry.removeprefix("iceberg_spark.")):
        return getattr(ice, name)
    module, _, name = entry.rpartition(".")
    return getattr(import_module(module), name)


def _methods(value: Any) -> Iterator[Callable[..., Any]]:
    if inspect.isfunction(value):
        yield value
    if inspect.isclass(value) and not issubclass(value, Exception):
        members = inspect.getmembers(value, inspect.isfunction)
        for name, member in members:
            is_own = member.__module__.startswith("iceberg_spark")
            if is_own and not name.startswith("_") and member.__qualname__ not in _WITHOUT_EXAMPLES:
                yield member


def undescribed_parameters(method: Callable[..., Any]) -> list[str]:
    """The parameters that neither the docstring describes nor that of the method's class."""
    text = inspect.getdoc(method) or ""
    owner = inspect.getmodule(method).__dict__.get(method.__qualname__.partition(".")[0])
    about = text + (inspect.getdoc(owner) or "")
    names = [name for name in inspect.signature(method).parameters if name not in ("self", "cls")]
    return [
        name for name in names
        if f"`{name}`" not in about and not re.search(rf"^ +\*{{0,2}}{name}: ", text, re.MULTILINE)
    ]  # fmt: skip


def example_of(method: Callable[..., Any]) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(inspect.getdoc(method) or "")


def examples() -> dict[str, str]:
    """The examples by the name of their method."""
    texts = {
        name: "".join(example.source for example in example_of(method))
        for name, method in described_methods().items()
    }
    return {name: text for name, text in texts.items() if text}


def needs_spark(name: str, text: str) -> bool:
    """Whether an example runs on Spark."""
    by_name = re.search(r"Merge|merge|\.update$|view|View|snapshot$|migrate$", name)
    return bool(re.search(r"\bspark\b", text) or by_name or ".merge(" in text)


def run(text: str, folder: Path, **more: Any) -> None:
    """Run an example on a table of its own, with the names that all examples use."""
    names = {**_names(folder), **more}
    code = text.replace('"/data/', f'"{folder}/data/')
    exec(compile(code, "example", "exec"), names)


def _names(folder: Path) -> dict[str, Any]:
    catalog = ice.load_catalog("prod", type="sql", uri=f"sqlite:///{folder}/catalog.db",
                               warehouse=str(folder / "warehouse"))  # fmt: skip
    catalog.create_namespace("shop")
    t = catalog.create_table(
        "shop.orders", SCHEMA, partition_by=["region"], properties={"note": "an example"}
    )
    rows = pa.table(
        {"id": [1, 2], "region": ["eu", "us"], "amount": [4.5, 200.0],
         "ts": [datetime(2024, 6, 1, tzinfo=UTC)] * 2}, schema=SCHEMA,
    )  # fmt: skip
    t.append(rows)
    first_id = t.current_snapshot().snapshot_id
    t.manage_snapshots().create_tag(None, "monday").create_branch(None, "audit").commit()
    t.append(rows)
    (folder / "data" / "orders").mkdir(parents=True)
    (folder / "data" / "visits").mkdir()
    pq.write_table(rows.slice(0, 1), folder / "data" / "orders" / "part-0.parquet")
    pq.write_table(rows, folder / "data" / "visits" / "part-0.parquet")
    records = pa.table({"value": pa.array([], pa.string()), "offset": pa.array([], pa.int64())})
    return {"ice": ice, "pa": pa, "t": t, "rows": rows, "catalog": catalog,
            "first_id": first_id, "records": records}  # fmt: skip
