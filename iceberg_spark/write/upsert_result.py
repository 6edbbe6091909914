"""The result of an upsert, for its caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from iceberg_spark.spec.data_file import DataFileContent
from iceberg_spark.write.cdc_writer import UpsertedFiles


@dataclass(frozen=True, slots=True)
class UpsertResult:
    """The counts of an upsert, under the names of the snapshot's summary.

    The table is not read, so inserts and updates can't be distinguished: `added_records` are the
    written rows, `added_equality_deletes` the distinct keys, whether rows with them existed or not,
    `added_position_deletes` rows that later ones of the same upsert replaced.
    """

    added_records: int = 0
    added_equality_deletes: int = 0
    added_position_deletes: int = 0
    added_data_files: int = 0
    added_delete_files: int = 0

    @classmethod
    def of(cls, files: UpsertedFiles) -> Self:
        """Count the written files."""
        kinds: dict[DataFileContent, int] = dict.fromkeys(DataFileContent, 0)
        for file in (*files.data, *files.deletes):
            kinds[file.content] += file.record_count
        return cls(
            kinds[DataFileContent.DATA],
            kinds[DataFileContent.EQUALITY_DELETES],
            kinds[DataFileContent.POSITION_DELETES],
            len(files.data),
            len(files.deletes),
        )

    def __str__(self) -> str:
        return (
            f"{self.added_records:,} rows written ({self.added_position_deletes:,} replaced by "
            f"later ones of the upsert), {self.added_equality_deletes:,} keys deleted by value; "
            f"{self.added_data_files:,} data files, {self.added_delete_files:,} delete files"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"
