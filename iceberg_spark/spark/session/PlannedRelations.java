package iceberg_spark;

import java.util.ArrayList;
import java.util.List;

import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.NoopCache$;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitionSpec;
import org.apache.spark.sql.execution.datasources.PartitioningAwareFileIndex;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

import scala.Option;
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
                files, values, schema, Option.empty(), new ParquetFileFormat(), given, session);
        return LogicalRelation$.MODULE$.apply(relation, false);
    }
}

/**
 * The files of a plan as Spark's Parquet source reads them: nothing is listed, and each file is a
 * partition of its own, so that values which differ from file to file are columns that cost nothing.
 * Pruning by them is the superclass's, over folders that nobody has.
 */
final class PlannedFiles extends PartitioningAwareFileIndex {
    private static final long BLOCK = 128L * 1024 * 1024;

    private final PartitionSpec spec;
    private final Seq paths;
    private final LinkedHashMap files = new LinkedHashMap();
    private final Map folders;
    private final long readBytes;

    PlannedFiles(
            SparkSession session, Map options, StructType values, String[] cells, long readBytes, Seq listed) {
        super(session, options, Option.empty(), NoopCache$.MODULE$);
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
