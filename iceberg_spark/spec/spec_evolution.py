"""Changes of a partition spec, one after the other, and the spec that results.

Rules: specification, "Partition Evolution". Which changes exclude each other, and when that is
checked, is as in Java (BaseUpdatePartitionSpec); Java has no `reorder`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from iceberg_spark.errors import InvalidSchemaError, UnsupportedError
from iceberg_spark.spec.compatibility import check_spec, is_time_transform
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    YearTransform,
)


def default_field_name(column: str, transform: Transform) -> str:
    """Return the name of a partition field that is added without one, such as `id_bucket_16`."""
    match transform:
        case IdentityTransform() | UnknownTransform():
            return column
        case BucketTransform(num_buckets=buckets):
            return f"{column}_bucket_{buckets}"
        case TruncateTransform(width=width):
            return f"{column}_trunc_{width}"
        case YearTransform() | MonthTransform() | DayTransform() | HourTransform():
            return f"{column}_{transform}"
        case VoidTransform():
            return f"{column}_null"


class SpecUpdate:
    """Collects changes of a table's default spec, and checks each immediately.

    Methods raise InvalidSchemaError naming the field, the rule and the way out.
    """

    def __init__(self, metadata: TableMetadata) -> None:
        self.spec = metadata.spec
        self.schema = metadata.schema
        self._rules = metadata.rules
        self._former = [part for spec in _by_id(metadata) for part in spec.fields]
        self._last_id = metadata.last_partition_id
        self._deletes: set[int] = set()
        self._renames: dict[str, str] = {}
        self._adds: list[PartitionField] = []
        self._order: tuple[str, ...] | None = None
        for part in self.spec.fields:
            if isinstance(part.transform, UnknownTransform):
                raise UnsupportedError(
                    f"The partition spec can't be changed: field '{part}' has an unknown "
                    "transform, which a newer version may support"
                )

    def add_field(self, source_id: int, transform: Transform, name: str | None = None) -> None:
        """Add a field at the end; the default names are like `ts_day`, `id_bucket_16`.

        From format-version 2 on an equal field of an earlier spec provides the id, and the name if
        none is passed.
        """
        same_name = self._added(name)
        if same_name is not None:
            raise InvalidSchemaError(
                f"Can't add partition field '{name}': the same update adds '{same_name}'"
            )
        existing = self._of_term(self.spec.fields, source_id, transform)
        if existing is not None and existing.field_id in self._deletes:
            self._deletes.discard(existing.field_id)
            if name is not None and name != existing.name:
                self.rename_field(existing.name, name)
            return
        twin = existing or self._of_term(self._adds, source_id, transform)
        if twin is not None:
            raise InvalidSchemaError(
                f"Can't add partition field {transform}({self._column(source_id)}): "
                f"'{twin.name}' is the same"
            )
        part = self._recycled_or_new(source_id, transform, name)
        check_spec(PartitionSpec(0, (part,)), self.schema)
        self._check_redundant(part)
        self._give_way(part)
        self._adds.append(part)

    def remove_field(self, name: str) -> None:
        """Remove a field by its name; in format-version 1 a void field takes its place."""
        if self._added(name) is not None:
            raise InvalidSchemaError(
                f"Can't remove partition field '{name}': the same update adds it"
            )
        self._remove(self._named(name, "remove"))

    def remove_term(self, source_id: int, transform: Transform) -> None:
        """Remove a field by its source column and transform."""
        added = self._of_term(self._adds, source_id, transform)
        if added is not None:
            raise InvalidSchemaError(
                f"Can't remove partition field '{added.name}': the same update adds it"
            )
        field = self._of_term(self.spec.fields, source_id, transform)
        if field is None:
            raise InvalidSchemaError(
                f"Can't remove partition field {transform}({self._column(source_id)}): the spec "
                f"has {self.spec}"
            )
        self._remove(field)

    def rename_field(self, name: str, new_name: str) -> None:
        """Rename a field; its id and its values stay."""
        if not new_name:
            raise InvalidSchemaError(f"Can't rename partition field '{name}' to nothing")
        self._clear_void(new_name)
        if self._added(name) is not None:
            raise InvalidSchemaError(
                f"Can't rename partition field '{name}': the same update adds it; add it under "
                "the new name"
            )
        part = self._named(name, "rename")
        if part.field_id in self._deletes:
            raise InvalidSchemaError(
                f"Can't rename partition field '{name}': the same update removes it"
            )
        self._renames[name] = new_name

    def reorder(self, names: Sequence[str]) -> None:
        """Set the order of the fields: all names as they are after the update."""
        if self._rules.needs_sequential_partition_ids:
            raise InvalidSchemaError(
                "Partition fields can't be reordered in format-version 1, whose field ids follow "
                "their order; upgrade the table: update_properties().set({'format-version': '2'})"
            )
        self._order = tuple(names)

    def apply(self) -> PartitionSpec:
        """Return the resulting spec, with the id of the base spec."""
        fields = [
            self._changed(part)
            for part in self.spec.fields
            if self._rules.needs_sequential_partition_ids or part.field_id not in self._deletes
        ]
        fields += self._adds
        return PartitionSpec(self.spec.spec_id, self._ordered(fields), self.spec.extra)

    def _changed(self, part: PartitionField) -> PartitionField:
        name = self._renames.get(part.name, part.name)
        removed = part.field_id in self._deletes
        transform = VoidTransform() if removed else part.transform
        return replace(part, name=name, transform=transform)

    def _ordered(self, fields: list[PartitionField]) -> tuple[PartitionField, ...]:
        if self._order is None:
            return tuple(fields)
        by_name = {part.name: part for part in fields}
        if sorted(self._order) != sorted(by_name):
            raise InvalidSchemaError(
                f"reorder needs every partition field once: {', '.join(by_name)}; passed: "
                f"{', '.join(self._order)}"
            )
        return tuple(by_name[name] for name in self._order)

    def _recycled_or_new(
        self, source_id: int, transform: Transform, name: str | None
    ) -> PartitionField:
        if not self._rules.needs_sequential_partition_ids:
            for part in self._former:
                alike = part.source_ids == (source_id,) and part.transform == transform
                if alike and name in (None, part.name):
                    return part
        self._last_id += 1
        field_name = name or default_field_name(self._column(source_id), transform)
        return PartitionField((source_id,), self._last_id, transform, field_name)

    def _check_redundant(self, part: PartitionField) -> None:
        if not is_time_transform(part.transform):
            return
        for other in self._adds:
            if is_time_transform(other.transform) and other.source_ids == part.source_ids:
                raise InvalidSchemaError(
                    f"Can't add partition field '{part.name}' ({part.transform}): the same update "
                    f"adds '{other.name}' ({other.transform}) of column "
                    f"'{self._column(part.source_id)}', and one of the two is redundant"
                )

    def _give_way(self, part: PartitionField) -> None:
        """Rename a removed or void field that has the new field's name."""
        holder = self._find(part.name)
        if holder is None:
            return
        spare = f"{holder.name}_{holder.field_id}"
        if holder.field_id in self._deletes:
            self._renames[holder.name] = spare
        elif isinstance(holder.transform, VoidTransform):
            self.rename_field(holder.name, spare)
        else:
            raise InvalidSchemaError(
                f"Can't add partition field '{part.name}': the spec has a field of that name; "
                "give the new one another, or rename the old one"
            )

    def _clear_void(self, name: str) -> None:
        holder = self._find(name)
        if holder is not None and isinstance(holder.transform, VoidTransform):
            self.rename_field(holder.name, f"{holder.name}_{holder.field_id}")

    def _remove(self, part: PartitionField) -> None:
        if part.name in self._renames:
            raise InvalidSchemaError(
                f"Can't remove partition field '{part.name}': the same update renames it"
            )
        self._deletes.add(part.field_id)

    def _named(self, name: str, verb: str) -> PartitionField:
        field = self._find(name)
        if field is None:
            names = ", ".join(part.name for part in self.spec.fields) or "none"
            raise InvalidSchemaError(
                f"Can't {verb} partition field '{name}': the fields are: {names}"
            )
        return field

    def _find(self, name: str) -> PartitionField | None:
        return next((part for part in self.spec.fields if part.name == name), None)

    def _added(self, name: str | None) -> PartitionField | None:
        return next((part for part in self._adds if part.name == name), None)

    def _of_term(
        self, fields: Iterable[PartitionField], source_id: int, transform: Transform
    ) -> PartitionField | None:
        term = (source_id,), transform
        matches = [part for part in fields if (part.source_ids, part.transform) == term]
        return matches[-1] if matches else None

    def _column(self, source_id: int) -> str:
        return self.schema.find_column_name(source_id) or f"dropped column {source_id}"


def _by_id(metadata: TableMetadata) -> list[PartitionSpec]:
    return [metadata.partition_specs[number] for number in sorted(metadata.partition_specs)]
