"""A process of its own: executors whose Python has our dependencies and not this package.

    python -m tests.spark.shipped_package FOLDER

The package is sent to them as a zip (--py-files). Prints one JSON object.
"""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.spark.processes import ROOT

MASTER = "local-cluster[1,1,1024]"
FORMAT = "pyiceberg-lite"


def bare_python(folder: Path) -> str:
    """A Python that sees what is installed here, but for the package itself (installed by .pth)."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    asked = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    own = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    (Path(own.stdout.strip()) / "all.pth").write_text(sysconfig.get_paths()["purelib"])
    lacks = subprocess.run([python, "-c", "import iceberg_spark"], cwd=folder, check=False)
    assert lacks.returncode != 0
    return str(python)


def packed(place: Path) -> str:
    """The package as a zip."""
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in ("iceberg_spark", "pyspark_pyiceberg_lite"):
            for file in (ROOT / package).rglob("*.py"):
                archive.write(file, file.relative_to(ROOT))
    return str(place)


def main(folder: Path) -> None:
    os.environ.pop("PYTHONPATH", None)
    os.environ["PYSPARK_PYTHON"] = bare_python(folder / "bare")
    spark = (
        SparkSession.builder.master(MASTER)
        .config("spark.submit.pyFiles", packed(folder / "package.zip"))
        .config("spark.executor.memory", "1g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    place = str(folder / "t")
    found = {}
    ice.enable(spark)
    rows = spark.range(100).selectExpr("id", "id % 3 AS k")
    rows.write.format(FORMAT).option("partition-by", "k").save(place)
    table = ice.load_table(place)
    table.update_properties().set({"write.delete.mode": "merge-on-read"}).commit()
    table.delete("id % 7 = 0")
    found["native"] = table.scan().to_df(spark).count()
    table.append(rows.where("id < 5"), engine="arrow")
    found["files"] = spark.read.format(FORMAT).load(f"{place}#files").count()
    ice.disable(spark)
    ice.register(spark)
    rows.where("id < 5").write.format(FORMAT).mode("append").save(place)
    found["plain"] = spark.read.format(FORMAT).load(place).count()
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
