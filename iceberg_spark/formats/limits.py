"""Numbers by which files are read and written in portions that fit in memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much of a file is held, fetched and decoded at once."""

    batch_bytes: int = 32 * 1024 * 1024
    """Bytes of a batch, or one row: Spark's workers and readers hold several at a time."""
    fetch_bytes: int = 32 * 1024 * 1024
    """Bytes of row groups of a Parquet file that are fetched together."""
    whole_group_bytes: int = 256 * 1024 * 1024
    """Bytes of row groups that Arrow may hold at a time; larger ones are read page by page."""
    pages_bytes: int = 64 * 1024 * 1024
    """Bytes of buffers of all columns that are read page by page, ..."""
    least_buffer: int = 256 * 1024
    """... and bytes of one column's, at least."""
    avro_portion_bytes: int = 16 * 1024 * 1024
    """Bytes of compressed Avro blocks that are decoded at once."""
    avro_segment_bytes: int = 4 * 1024 * 1024
    """Bytes of decompressed Avro blocks that become columns at once (measured: 2 to 8 MB take 0.85
    of the time that 64 KB or 32 MB take)."""
    avro_rows: int = 10_000
    """Avro records that are Python values at a time, some twenty times their bytes."""
    others_bytes: int = 1024 * 1024
    """Bytes of a file's other columns from which columns of a filter are read before them, ..."""
    others_share: int = 8
    """... and how often they have the bytes of those of the filter, which are then read twice."""
    bloom_values: int = 1_000
    """Values of a filter that are looked up in Bloom filters; of more, some are always found."""


@dataclass(frozen=True, slots=True)
class FooterLimits:
    """How Parquet footers are read, and how many are remembered in a process."""

    tail_bytes: int = 64 * 1024
    """Bytes read at once before a file is opened: footers of most files are within."""
    head_bytes: int = 32 * 1024
    """Bytes of the first read if only the columns are needed."""
    most_bytes: int = 64 * 1024 * 1024
    """Maximum bytes of a footer whose columns are needed."""
    head_levels: int = 32
    """Levels of nesting in such a footer's schema."""
    thrift_levels: int = 24
    """Levels of nesting in a footer that is checked whole."""
    kept_schemas: int = 64
    """Schemas as bytes that are remembered with their columns."""
    kept_footers: int = 10_000
    """Footers that are remembered as sound."""
    least_growth: int = 1024 * 1024
    """Bytes: columns that decoding grows by less are not remembered: they make no batch large."""


@dataclass(frozen=True, slots=True)
class PuffinLimits:
    """How Puffin files are read."""

    tail_bytes: int = 64 * 1024
    """Bytes read at once for a footer: those of a few hundred blobs are within."""
    run_bytes: int = 256 * 1024
    """Bytes of adjacent blobs that are read together if one of them is needed."""
    unasked_bytes: int = 4 * 1024 * 1024
    """Bytes of a blob that are read without asking for the file's size before."""


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """Defaults of what table properties can set for writing."""

    page_bytes: int = 1024 * 1024
    """Bytes of a Parquet page (`write.parquet.page-size-bytes`)."""
    dictionary_bytes: int = 2 * 1024 * 1024
    """Bytes of a Parquet dictionary (`write.parquet.dict-size-bytes`)."""
    page_check_rows: int = 1024
    """Rows between checks of the size of a page: Arrow's own number."""
    sample_rows: int = 8192
    """Rows of a column by which a dictionary is judged."""
    dictionary_rows: int = 512
    """Rows: of fewer, a dictionary saves nothing that compression doesn't."""
    dictionary_repeats: int = 3
    """Rows for each distinct value in the sample from which a dictionary pays (measured: above it
    Arrow hashes every value and then falls back to plain pages, at 2.5 times the time)."""
    bloom_bytes: int = 1024 * 1024
    """Bytes of a Bloom filter (`write.parquet.bloom-filter-max-bytes`)."""
    bloom_share: float = 0.01
    """Share of values that a Bloom filter takes for its own and are not."""
    stripe_bytes: int = 64 * 1024 * 1024
    """Bytes of an ORC stripe (`write.orc.stripe-size-bytes`)."""
    orc_block_bytes: int = 256 * 1024
    """Bytes that ORC compresses at once."""
    orc_dictionary_share: float = 0.8
    """Distinct share of texts up to which ORC keeps a dictionary, as in Java."""
    variant_rows: int = 100
    """Rows from which shredding is inferred (`write.parquet.variant-inference-buffer-size`)."""
    geometry_bytes: int = 16 * 1024 * 1024
    """Bytes of a file's geometries, points aside, that are looked through for its bounds."""
    avro_block_bytes: int = 64_000
    """Bytes of an Avro block, as Java's writer has them."""
    avro_rows: int = 4_096
    """Rows that become Avro records at once."""


READING = ReadLimits()
FOOTERS = FooterLimits()
PUFFIN = PuffinLimits()
WRITING = WriteLimits()
