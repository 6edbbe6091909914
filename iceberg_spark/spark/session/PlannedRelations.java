package iceberg_spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
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
import scala.runtime.AbstractPartialFunction;

/**
 * Makes relations of Spark's Parquet source over the files of a plan.
 *
 * This is compiled in the driver by Janino, with which Spark compiles its own generated code;
 * executors never see it. An object, since Python can't name a class that was compiled while it ran.
 */
public class PlannedRelations {
    /**
     * Returns a relation of files, with their values behind the columns of the schema.
     *
     * @param options names and values, by turns
     * @param values the type of what each file has of its own: int, bigint or string
     * @param cells for each file its path, its size in bytes and its values; an empty one is NULL
     * @param readBytes the size that Spark chooses joins by
     * @param listed what a store that knows where its blocks lie said of the files, or nothing
     */
    public LogicalRelation relation(
            SparkSession session, StructType schema, String[] options, StructType values, String[] cells,
            long readBytes, Seq listed) {
        Map given = (Map) Map$.MODULE$.empty();
        for (int at = 0; at < options.length; at += 2) {
            given = (Map) given.updated(options[at], options[at + 1]);
        }
        PlannedFiles files = new PlannedFiles(session, given, values, cells, readBytes, listed);
        HadoopFsRelation relation = new HadoopFsRelation(
                files, values, schema, Option.empty(), new PlannedParquet(), given, session);
        return LogicalRelation$.MODULE$.apply(relation, false);
    }

    /**
     * Returns a plan whose relations say that they take as many bytes as some of their columns do.
     *
     * Spark takes what a projection leaves of a relation for a part of it, by the widths of types; so
     * the whole is said to be that much larger.
     *
     * @param given a line for each relation: the id of its first column, the bytes that the needed ones
     *     take, and their ids, parted by commas
     */
    public LogicalPlan resized(LogicalPlan plan, String given) {
        java.util.Map sizes = new java.util.HashMap();
        String[] lines = given.split("\n");
        for (int at = 0; at < lines.length; at++) {
            String[] said = lines[at].split(" ");
            sizes.put(Long.valueOf(said[0]), new Object[] {said[2], Long.valueOf(said[1])});
        }
        LogicalPlan made = (LogicalPlan) plan.transformUpWithSubqueries(new Resizing(sizes));
        made.setAnalyzed();
        return made;
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

/** Relations of planned files that say another size, by the id of their first column. */
final class Resizing extends AbstractPartialFunction {
    private final java.util.Map sizes;
    private final java.util.Map made = new java.util.HashMap();

    Resizing(java.util.Map sizes) {
        this.sizes = sizes;
    }

    public boolean isDefinedAt(Object plan) {
        return size(plan) != null;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
        Object[] size = size(plan);
        if (size == null) {
            return otherwise.apply(plan);
        }
        LogicalRelation old = (LogicalRelation) plan;
        HadoopFsRelation files = (HadoopFsRelation) old.relation();
        String needed = "," + size[0] + ",";
        double whole = 8;
        double some = 8;
        for (int at = 0; at < old.output().length(); at++) {
            Attribute column = (Attribute) old.output().apply(at);
            whole += column.dataType().defaultSize();
            some += needed.contains("," + column.exprId().id() + ",") ? column.dataType().defaultSize() : 0;
        }
        long bytes = (long) (((Number) size[1]).doubleValue() * whole / some);
        Object[] parts = new Object[old.productArity()];
        for (int at = 1; at < parts.length; at++) {
            parts[at] = old.productElement(at);
        }
        parts[0] = new HadoopFsRelation(
                resized((PlannedFiles) files.location(), bytes), files.partitionSchema(), files.dataSchema(),
                files.bucketSpec(), files.fileFormat(), files.options(), files.sparkSession());
        return old.makeCopy(parts);
    }

    /** Returns one object for the same files of one size: Spark reads them once in a query. */
    private PlannedFiles resized(PlannedFiles files, long bytes) {
        List key = Arrays.asList(new Object[] {files, Long.valueOf(bytes)});
        if (!made.containsKey(key)) {
            made.put(key, new PlannedFiles(files, bytes));
        }
        return (PlannedFiles) made.get(key);
    }

    private Object[] size(Object plan) {
        if (!(plan instanceof LogicalRelation) || ((LogicalRelation) plan).output().isEmpty()) {
            return null;
        }
        LogicalRelation relation = (LogicalRelation) plan;
        boolean isPlanned = relation.relation() instanceof HadoopFsRelation
                && ((HadoopFsRelation) relation.relation()).location() instanceof PlannedFiles;
        Attribute first = (Attribute) relation.output().apply(0);
        return isPlanned ? (Object[]) sizes.get(Long.valueOf(first.exprId().id())) : null;
    }
}

/**
 * The files of a plan as Spark's Parquet source reads them: nothing is listed, and each file is a
 * partition of its own, so that values which differ from file to file are columns that cost nothing.
 * Pruning by them is the superclass's, over folders that nobody has.
 */
final class PlannedFiles extends PartitioningAwareFileIndex {
    private static final long BLOCK = 128L * 1024 * 1024;

    private final SparkSession session;
    private final Map given;
    private final PartitionSpec spec;
    private final Seq paths;
    private final LinkedHashMap files;
    private final Map folders;
    private final long readBytes;

    PlannedFiles(PlannedFiles other, long readBytes) {
        super(other.session, other.given, Option.empty(), NoopCache$.MODULE$);
        this.session = other.session;
        this.given = other.given;
        this.spec = other.spec;
        this.paths = other.paths;
        this.files = other.files;
        this.folders = other.folders;
        this.readBytes = readBytes;
    }

    PlannedFiles(
            SparkSession session, Map options, StructType values, String[] cells, long readBytes, Seq listed) {
        super(session, options, Option.empty(), NoopCache$.MODULE$);
        this.session = session;
        this.given = options;
        this.files = new LinkedHashMap();
        this.readBytes = readBytes;
        int width = 2 + values.length();
        java.util.Map known = byPath(listed);
        List paths = new ArrayList();
        List partitions = new ArrayList();
        java.util.Map folders = new java.util.HashMap();
        for (int at = 0; at < cells.length; at += width) {
            Path path = new Path(cells[at]);
            FileStatus file = (FileStatus) known.get(path);
            if (file == null) {
                file = new FileStatus(Long.parseLong(cells[at + 1]), false, 1, BLOCK, 0L, path);
            }
            paths.add(path);
            this.files.put(path, file);
            if (width > 2) {
                Path folder = new Path("/" + paths.size());
                folders.put(folder, new FileStatus[] {file});
                partitions.add(new PartitionPath(row(values, cells, at + 2), folder));
            }
        }
        this.paths = CollectionConverters.asScala(paths).toSeq();
        this.folders = Map$.MODULE$.from(CollectionConverters.asScala(folders));
        this.spec = new PartitionSpec(values, CollectionConverters.asScala(partitions).toSeq());
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

    private static java.util.Map byPath(Seq listed) {
        java.util.Map known = new java.util.HashMap();
        for (int at = 0; at < listed.length(); at++) {
            FileStatus file = (FileStatus) listed.apply(at);
            known.put(file.getPath(), file);
        }
        return known;
    }

    private static InternalRow row(StructType values, String[] cells, int first) {
        Object[] row = new Object[values.length()];
        for (int at = 0; at < row.length; at++) {
            row[at] = value(values.apply(at).dataType(), cells[first + at]);
        }
        return new GenericInternalRow(row);
    }

    private static Object value(DataType type, String cell) {
        if (cell.isEmpty()) {
            return null;
        }
        if (type == DataTypes.StringType) {
            return UTF8String.fromString(cell);
        }
        return type == DataTypes.LongType ? (Object) Long.valueOf(cell) : (Object) Integer.valueOf(cell);
    }
}
