package iceberg_spark;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

import scala.Function1;
import scala.Option;
import scala.Product;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.collection.mutable.LinkedHashMap;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Makes relations of Spark's Parquet source over the files of a plan.
 *
 * This is compiled in the driver by Janino, with which Spark compiles its own generated code;
 * executors never see it. An object, since Python can't name a class that was compiled while it ran.
 */
public class PlannedRelations {
    private static final long BLOCK = 128L * 1024 * 1024;

    /**
     * Returns a relation of files, with their values behind the columns of the schema.
     *
     * @param options names and values, by turns
     * @param values the type of what each file has of its own
     * @param cells for each file its path, its size in bytes and its values: "=" and a text for `value`,
     *     or an empty one, which is NULL
     * @param readBytes the size that Spark chooses joins by
     * @param listed what a store that knows where its blocks lie said of the files, or nothing
     */
    public LogicalRelation relation(
            SparkSession session, StructType schema, String[] options, StructType values, String[] cells,
            long readBytes, Seq listed) {
        Map given = (Map) Map$.MODULE$.empty();
        for (int i = 0; i < options.length; i += 2) {
            given = (Map) given.updated(options[i], options[i + 1]);
        }
        int width = 2 + values.length();
        FileStatus[] statuses = new FileStatus[cells.length / width];
        InternalRow[] rows = new InternalRow[statuses.length];
        java.util.Map known = byPath(listed);
        for (int i = 0; i < statuses.length; i++) {
            Path path = new Path(cells[i * width]);
            FileStatus file = (FileStatus) known.get(path);
            long size = Long.parseLong(cells[i * width + 1]);
            statuses[i] = file == null ? new FileStatus(size, false, 1, BLOCK, 0L, path) : file;
            rows[i] = row(values, cells, i * width + 2);
        }
        PlannedFiles files = new PlannedFiles(session, given, values, statuses, rows, readBytes, null, null);
        HadoopFsRelation relation = new HadoopFsRelation(
                files, values, schema, Option.empty(), new PlannedParquet(), given, session);
        return LogicalRelation$.MODULE$.apply(relation, false);
    }

    private static java.util.Map byPath(Seq listed) {
        java.util.Map known = new java.util.HashMap();
        for (int i = 0; i < listed.length(); i++) {
            FileStatus file = (FileStatus) listed.apply(i);
            known.put(file.getPath(), file);
        }
        return known;
    }

    private static InternalRow row(StructType values, String[] cells, int first) {
        Object[] row = new Object[values.length()];
        for (int i = 0; i < row.length; i++) {
            String cell = cells[first + i];
            row[i] = cell.isEmpty() ? null : value(values.apply(i).dataType(), cell.substring(1));
        }
        return new GenericInternalRow(row);
    }

    /** Returns a value as Spark stores it; dates are days, timestamps are microseconds. */
    public static Object value(DataType type, String text) {
        if (type instanceof DecimalType) {
            return Decimal.apply(new java.math.BigDecimal(text), ((DecimalType) type).precision(), ((DecimalType) type).scale());
        }
        if (type == DataTypes.BooleanType) {
            return Boolean.valueOf(text);
        }
        if (type instanceof StringType) {
            return UTF8String.fromString(text);
        }
        boolean isShort = type == DataTypes.IntegerType || type == DataTypes.DateType;
        return isShort ? (Object) Integer.valueOf(text) : (Object) Long.valueOf(text);
    }
}

/**
 * Spark's Parquet source without pushed filters whose dates Spark may have changed.
 *
 * Spark hands a date or an instant to its Parquet reader as java.sql.Date or java.sql.Timestamp. Their
 * calendar has no 5 to 14 October 1582: a literal of these days becomes one of 15 October, and row
 * groups that have the rows are skipped. So filters with a literal of that day are not pushed down;
 * Spark evaluates them on the rows all the same.
 */
final class PlannedParquet extends ParquetFileFormat {
    /** 14 October 1582 in UTC: zones may be 18 hours ahead or behind. */
    private static final long FIRST_MS = -141428L * 86400000L;
    /** 17 October 1582 in UTC. */
    private static final long END_MS = -141425L * 86400000L;

    public Function1 buildReaderWithPartitionValues(
            SparkSession session, StructType dataSchema, StructType partitionSchema, StructType requiredSchema,
            Seq filters, Map options, Configuration hadoop) {
        List exact = new ArrayList();
        for (int at = 0; at < filters.length(); at++) {
            if (!mayHaveMoved(filters.apply(at))) {
                exact.add(filters.apply(at));
            }
        }
        Seq kept = CollectionConverters.asScala(exact).toSeq();
        // An object of Spark's own makes the function that tasks get: executors lack this class.
        return new ParquetFileFormat().buildReaderWithPartitionValues(
                session, dataSchema, partitionSchema, requiredSchema, kept, options, hadoop);
    }

    private static boolean mayHaveMoved(Object part) {
        if (part instanceof java.util.Date) {
            long ms = ((java.util.Date) part).getTime();
            return FIRST_MS <= ms && ms < END_MS;
        }
        if (part instanceof Object[]) {
            Object[] parts = (Object[]) part;
            for (int at = 0; at < parts.length; at++) {
                if (mayHaveMoved(parts[at])) {
                    return true;
                }
            }
            return false;
        }
        if (part instanceof Filter) {
            Product filter = (Product) part;
            for (int at = 0; at < filter.productArity(); at++) {
                if (mayHaveMoved(filter.productElement(at))) {
                    return true;
                }
            }
        }
        return false;
    }
}

/**
 * The files of a plan as Spark's Parquet source reads them: nothing is listed, and each file is a
 * partition of its own, so that values which differ from file to file are columns that cost nothing.
 * The superclass prunes by them, over folders that do not exist.
 */
public final class PlannedFiles extends PartitioningAwareFileIndex {
    private final SparkSession session;
    private final Map options;
    private final StructType values;
    private final FileStatus[] statuses;
    private final InternalRow[] rows;
    private final long readBytes;
    private final PlannedFiles whole;
    private final BitSet kept;

    private final Seq paths;
    private final LinkedHashMap files;
    private final Map folders;
    private final PartitionSpec spec;

    /** `whole` and `kept` say which files of which others these are; null for all that were planned. */
    PlannedFiles(
            SparkSession session, Map options, StructType values, FileStatus[] statuses, InternalRow[] rows,
            long readBytes, PlannedFiles whole, BitSet kept) {
        super(session, options, Option.empty(), NoopCache$.MODULE$);
        this.session = session;
        this.options = options;
        this.values = values;
        this.statuses = statuses;
        this.rows = rows;
        this.readBytes = readBytes;
        this.whole = whole;
        this.kept = kept;
        this.files = new LinkedHashMap();
        List paths = new ArrayList();
        List partitions = new ArrayList();
        java.util.Map folders = new java.util.HashMap();
        for (int i = 0; i < statuses.length; i++) {
            paths.add(statuses[i].getPath());
            this.files.put(statuses[i].getPath(), statuses[i]);
            if (values.length() > 0) {
                Path folder = new Path("/" + paths.size());
                folders.put(folder, new FileStatus[] {statuses[i]});
                partitions.add(new PartitionPath(rows[i], folder));
            }
        }
        this.paths = CollectionConverters.asScala(paths).toSeq();
        this.folders = Map$.MODULE$.from(CollectionConverters.asScala(folders));
        this.spec = new PartitionSpec(values, CollectionConverters.asScala(partitions).toSeq());
    }

    /** Returns whether these are files that were chosen for the filters of one plan. */
    public boolean isPruned() {
        return whole != null;
    }

    /**
     * Returns some of these files.
     *
     * @param kept their numbers; null for all
     * @param readBytes the size that Spark chooses joins by
     */
    public PlannedFiles pruned(BitSet kept, long readBytes) {
        if (kept == null) {
            return new PlannedFiles(session, options, values, statuses, rows, readBytes, this, null);
        }
        FileStatus[] someStatuses = new FileStatus[kept.cardinality()];
        InternalRow[] someRows = new InternalRow[someStatuses.length];
        int count = 0;
        for (int i = kept.nextSetBit(0); i >= 0; i = kept.nextSetBit(i + 1)) {
            someStatuses[count] = statuses[i];
            someRows[count++] = rows[i];
        }
        return new PlannedFiles(session, options, values, someStatuses, someRows, readBytes, this, kept);
    }

    /** Spark reads equal relations of a query once. */
    public boolean equals(Object other) {
        if (whole == null || !(other instanceof PlannedFiles)) {
            return this == other;
        }
        PlannedFiles files = (PlannedFiles) other;
        return whole == files.whole && readBytes == files.readBytes && Objects.equals(kept, files.kept);
    }

    public int hashCode() {
        return whole == null ? System.identityHashCode(this) : Objects.hash(new Object[] {whole, kept, Long.valueOf(readBytes)});
    }

    public PartitionSpec partitionSpec() {
        return spec;
    }

    public LinkedHashMap leafFiles() {
        return files;
    }

    public Map leafDirToChildrenFiles() {
        return folders;
    }

    public Seq rootPaths() {
        return paths;
    }

    /** What is read of the files, where the relation has some of their columns only. */
    public long sizeInBytes() {
        return readBytes;
    }

    /** A snapshot's files never change. */
    public void refresh() {}
}
