"""The results of maintenance, counted as in Java's procedures."""

from __future__ import annotations

from dataclasses import dataclass, field

from iceberg_spark.spec.manifest_file import ManifestFile


@dataclass(frozen=True, slots=True)
class ManifestRewrite:
    """The replaced manifests, and those that have their entries now."""

    rewritten_manifests: tuple[ManifestFile, ...] = field(default=(), repr=False)
    added_manifests: tuple[ManifestFile, ...] = field(default=(), repr=False)

    @property
    def rewritten_manifests_count(self) -> int:
        """The number of replaced manifests."""
        return len(self.rewritten_manifests)

    @property
    def added_manifests_count(self) -> int:
        """The number of written manifests."""
        return len(self.added_manifests)

    def __repr__(self) -> str:
        replaced, added = self.rewritten_manifests_count, self.added_manifests_count
        return (
            f"ManifestRewrite(rewritten_manifests_count={replaced}, added_manifests_count={added})"
        )

    def __str__(self) -> str:
        return (
            f"{self.rewritten_manifests_count:,} manifests replaced by "
            f"{self.added_manifests_count:,}"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self}</p>"
