"""`python -m iceberg_spark doctor` checks the installation; exit code 1: something is wrong."""

from __future__ import annotations

import argparse
import sys

from iceberg_spark.checkup.examine import doctor


def main() -> int:
    """Run a command."""
    parser = argparse.ArgumentParser(prog="python -m iceberg_spark")
    parser.add_argument("command", choices=["doctor"], help="doctor: check the installation")
    parser.parse_args()
    report = doctor()
    sys.stdout.write(f"{report!r}\n")
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
