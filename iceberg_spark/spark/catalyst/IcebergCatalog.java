package iceberg_spark;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Function;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.optimizer.CollapseProject$;
import org.apache.spark.sql.catalyst.optimizer.ColumnPruning$;
import org.apache.spark.sql.catalyst.optimizer.PropagateEmptyRelation$;
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates$;
import org.apache.spark.sql.catalyst.optimizer.PushProjectionThroughUnion$;
import org.apache.spark.sql.catalyst.optimizer.RemoveNoopOperators$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.V1Scan;
import org.apache.spark.sql.execution.CacheManager;
import org.apache.spark.sql.execution.datasources.SchemaPruning$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.V1ScanWrapper;
import org.apache.spark.sql.execution.dynamicpruning.CleanupDynamicPruningFilters$;
import org.apache.spark.sql.execution.dynamicpruning.PartitionPruning$;
import org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

import scala.Function1;
import scala.Option;
import scala.Some;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * A catalog by which Spark's analyzer resolves the names of Iceberg tables and views.
 *
 * Python answers each call: `python.apply(operation, argument)` with JSON texts, see `PythonCalls`.
 * Statements that change tables or namespaces do not come here: `spark.sql` of an enabled session
 * runs them in Python.
 */
public class IcebergCatalog implements TableCatalog, SupportsNamespaces, FunctionCatalog {
    private SparkSession session;
    private String name;
    private BiFunction python;
    /** The version of each table that was loaded last; of more tables than that nobody caches the rows. */
    private final Map versions = Collections.synchronizedMap(new Versions());

    /** Adds the catalog to a session, in the place of an earlier one of its name. */
    public void register(SparkSession session, String name, BiFunction python) throws Exception {
        IcebergCatalog catalog = new IcebergCatalog();
        catalog.session = session;
        catalog.name = name;
        catalog.python = python;
        CatalogManager manager = session.sessionState().catalogManager();
        synchronized (manager) {
            catalogs(manager).update(name, catalog);
        }
        ExpandScans.install(session);
    }

    /** Returns the plan of rows that no catalog has; their files are planned when a query is optimized. */
    public LogicalPlan plan(SparkSession session, String name, Function python) {
        ExpandScans.install(session);
        return DataSourceV2Relation.create(new LazyTable(name, python), Option.empty(), Option.empty());
    }

    /** Removes the catalogs of a session. The session's own catalog is its current one afterwards. */
    public void unregister(SparkSession session) throws Exception {
        CatalogManager manager = session.sessionState().catalogManager();
        synchronized (manager) {
            if (manager.currentCatalog() instanceof IcebergCatalog) {
                manager.setCurrentCatalog(CatalogManager.SESSION_CATALOG_NAME());
            }
            Object[] names = CollectionConverters.asJava(catalogs(manager)).keySet().toArray();
            for (int i = 0; i < names.length; i++) {
                if (catalogs(manager).apply(names[i]) instanceof IcebergCatalog) {
                    catalogs(manager).remove(names[i]);
                }
            }
        }
    }

    /** Returns whether Spark can load a class, as it loads those of catalogs. */
    public boolean hasClass(String name) {
        try {
            Thread.currentThread().getContextClassLoader().loadClass(name);
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /** Makes a namespace the session's current one, if the session has its catalog. */
    public void use(SparkSession session, String catalog, String[] namespace) throws Exception {
        CatalogManager manager = session.sessionState().catalogManager();
        synchronized (manager) {
            Option registered;
            try {
                registered = catalogs(manager).get(catalog);
            } catch (NoSuchFieldException e) {
                return; // another Spark's class, for which `register` has failed
            }
            if (registered.isDefined() && registered.get() instanceof IcebergCatalog) {
                manager.setCurrentCatalog(catalog);
                manager.setCurrentNamespace(namespace);
            }
        }
    }

    private static scala.collection.mutable.HashMap catalogs(CatalogManager manager) throws Exception {
        Field field = manager.getClass().getDeclaredField("catalogs");
        field.setAccessible(true);
        return (scala.collection.mutable.HashMap) field.get(manager);
    }

    public void initialize(String name, CaseInsensitiveStringMap options) {}

    public String name() {
        return name;
    }

    public Table loadTable(Identifier table) throws NoSuchTableException {
        LazyTable loaded = load(table, new HashMap());
        uncacheOther(table, loaded);
        return loaded;
    }

    public Table loadTable(Identifier table, String version) throws NoSuchTableException {
        return load(table, Collections.singletonMap("version", version));
    }

    public Table loadTable(Identifier table, long micros) throws NoSuchTableException {
        return load(table, Collections.singletonMap("timestamp_us", Long.valueOf(micros)));
    }

    /**
     * Removes the rows of another version from Spark's cache: Spark would take that version for this one.
     *
     * `CACHE TABLE` loads the table as well, so the version that it keeps is known here.
     */
    private void uncacheOther(Identifier table, LazyTable loaded) {
        Object before = versions.put(table, loaded.version);
        CacheManager cache = session.sharedState().cacheManager();
        if (before == null || before.equals(loaded.version) || cache.isEmpty()) {
            return;
        }
        List parts = new ArrayList();
        parts.add(name);
        Collections.addAll(parts, table.namespace());
        parts.add(table.name());
        cache.uncacheTableOrView(session, CollectionConverters.asScala(parts).toSeq(), false, false);
    }

    private LazyTable load(Identifier table, Map version) throws NoSuchTableException {
        Map request = new HashMap(version);
        request.put("namespace", table.namespace());
        request.put("name", table.name());
        Object rows = PythonCalls.call(python, "table", request);
        if (rows == null) {
            throw new NoSuchTableException(table);
        }
        return new LazyTable(name + "." + table, (Function) rows);
    }

    public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
        String[] names = (String[]) PythonCalls.JSON.convertValue(ask("tables", namespace), String[].class);
        Identifier[] tables = new Identifier[names.length];
        for (int i = 0; i < tables.length; i++) {
            tables[i] = Identifier.of(namespace, names[i]);
        }
        return tables;
    }

    public String[][] listNamespaces() throws NoSuchNamespaceException {
        return listNamespaces(new String[0]);
    }

    public String[][] listNamespaces(String[] parent) throws NoSuchNamespaceException {
        return (String[][]) PythonCalls.JSON.convertValue(ask("namespaces", parent), String[][].class);
    }

    public Map loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
        return (Map) PythonCalls.JSON.convertValue(ask("namespace", namespace), Map.class);
    }

    private JsonNode ask(String operation, String[] namespace) throws NoSuchNamespaceException {
        Object answer = PythonCalls.call(python, operation, Collections.singletonMap("namespace", namespace));
        if (answer == null) {
            throw new NoSuchNamespaceException(namespace);
        }
        return PythonCalls.parse((String) answer);
    }

    public Identifier[] listFunctions(String[] namespace) {
        return new Identifier[0];
    }

    public UnboundFunction loadFunction(Identifier function) throws NoSuchFunctionException {
        throw new NoSuchFunctionException(function);
    }

    public Table createTable(Identifier table, TableInfo description) {
        throw changes();
    }

    public Table alterTable(Identifier table, TableChange... changes) {
        throw changes();
    }

    public boolean dropTable(Identifier table) {
        throw changes();
    }

    public void renameTable(Identifier table, Identifier to) {
        throw changes();
    }

    public void createNamespace(String[] namespace, Map properties) {
        throw changes();
    }

    public void alterNamespace(String[] namespace, NamespaceChange... changes) {
        throw changes();
    }

    public boolean dropNamespace(String[] namespace, boolean cascade) {
        throw changes();
    }

    private UnsupportedOperationException changes() {
        return new UnsupportedOperationException(
                "Catalog " + name + " is changed by spark.sql of an enabled session, one statement a call: "
                + "run the statements of a script (BEGIN ... END) one by one");
    }
}

/** The versions of tables that were loaded lately, by their names. */
final class Versions extends LinkedHashMap {
    private static final int MOST = 10000;

    protected boolean removeEldestEntry(Map.Entry eldest) {
        return size() > MOST;
    }
}

/** Calls of Python, whose answer is JSON text, an object, or null; an error is a text that begins with "!". */
final class PythonCalls {
    static final ObjectMapper JSON = new ObjectMapper();

    static Object call(BiFunction python, String operation, Object request) {
        try {
            return checked(python.apply(operation, JSON.writeValueAsString(request)));
        } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    static Object checked(Object answer) {
        if (answer instanceof String && ((String) answer).startsWith("!")) {
            throw new IllegalArgumentException(((String) answer).substring(1));
        }
        return answer;
    }

    static JsonNode parse(String text) {
        try {
            return JSON.readTree(text);
        } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }
}

/**
 * A table or view of one version, whose files are planned when a query is optimized.
 *
 * `python.apply(null)` describes it; `python.apply(request)` returns a list of DataFrames, together the
 * rows with the columns of the request, in that order; they may have other names.
 */
final class LazyTable implements SupportsRead, SupportsMetadataColumns {
    final StructType schema;
    final StructType metadata;
    final String version;
    private final String name;
    private final Function python;

    LazyTable(String name, Function python) {
        JsonNode description = PythonCalls.parse((String) PythonCalls.checked(python.apply(null)));
        this.name = name;
        this.schema = (StructType) DataType.fromJson(description.get("schema").toString());
        this.metadata = (StructType) DataType.fromJson(description.get("metadata").toString());
        this.version = description.get("version").textValue();
        this.python = python;
    }

    /**
     * Returns an optimized plan of rows, whose columns have the ids of some attributes.
     *
     * @param filters conditions on the rows that the query uses; other rows may be missing or not
     * @param isCounted whether the query uses nothing but the number of rows
     */
    LogicalPlan rows(SparkSession session, Seq attributes, List filters, boolean isCounted) {
        List names = new ArrayList();
        for (int i = 0; i < attributes.length(); i++) {
            names.add(((Attribute) attributes.apply(i)).name());
        }
        Map request = new HashMap();
        request.put("columns", names);
        request.put("filters", filters);
        request.put("counted", Boolean.valueOf(isCounted));
        String text = PythonCalls.JSON.valueToTree(request).toString();
        LogicalPlan rows = optimized(session, (List) PythonCalls.checked(python.apply(text)));
        List columns = new ArrayList();
        for (int i = 0; i < attributes.length(); i++) {
            Attribute attribute = (Attribute) attributes.apply(i);
            Expression column = (Expression) rows.output().apply(i);
            columns.add(new Alias(
                    column, attribute.name(), attribute.exprId(), attribute.qualifier(), new Some(attribute.metadata()), (Seq) Nil$.MODULE$));
        }
        return new Project(CollectionConverters.asScala(columns).toSeq(), rows);
    }

    /** Optimizes the parts without pruning their files: the query that they become part of does that. */
    private static LogicalPlan optimized(SparkSession session, List frames) {
        boolean before = FilePruning.pause(true);
        try {
            List plans = new ArrayList();
            for (int i = 0; i < frames.size(); i++) {
                plans.add(((Dataset) frames.get(i)).queryExecution().optimizedPlan());
            }
            if (plans.size() == 1) {
                return (LogicalPlan) plans.get(0);
            }
            LogicalPlan union = new Union(CollectionConverters.asScala(plans).toSeq(), false, false);
            return union.resolved() ? union : Dataset.ofRows(session, union).queryExecution().optimizedPlan();
        } finally {
            FilePruning.pause(before);
        }
    }

    public String name() {
        return name;
    }

    public StructType schema() {
        return schema;
    }

    public Set capabilities() {
        return Collections.singleton(TableCapability.BATCH_READ);
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new LazyScan(this);
    }

    public MetadataColumn[] metadataColumns() {
        MetadataColumn[] columns = new MetadataColumn[metadata.length()];
        for (int i = 0; i < columns.length; i++) {
            columns[i] = new HiddenColumn(metadata.apply(i));
        }
        return columns;
    }

    /** Spark caches the rows of one version once. */
    public boolean equals(Object other) {
        return other instanceof LazyTable && version.equals(((LazyTable) other).version);
    }

    public int hashCode() {
        return version.hashCode();
    }
}

final class HiddenColumn implements MetadataColumn {
    private final StructField field;

    HiddenColumn(StructField field) {
        this.field = field;
    }

    public String name() {
        return field.name();
    }

    public DataType dataType() {
        return field.dataType();
    }
}

/** A scan that `ExpandScans` replaces. Where that rule is missing, Spark reads the rows as an RDD. */
final class LazyScan
        implements ScanBuilder, SupportsPushDownCatalystFilters, SupportsPushDownRequiredColumns, V1Scan {
    private final LazyTable table;
    private final List filters = new ArrayList();
    private StructType columns;

    LazyScan(LazyTable table) {
        this.table = table;
        this.columns = table.schema;
    }

    static LazyScan of(Object plan) {
        if (!(plan instanceof DataSourceV2ScanRelation)) {
            return null;
        }
        Scan scan = ((DataSourceV2ScanRelation) plan).scan();
        scan = scan instanceof V1ScanWrapper ? ((V1ScanWrapper) scan).v1Scan() : scan;
        return scan instanceof LazyScan ? (LazyScan) scan : null;
    }

    LogicalPlan rows(SparkSession session, Seq attributes, boolean isCounted) {
        return table.rows(session, attributes, filters, isCounted);
    }

    /** Notes filters, which choose the files to plan; Spark applies all of them to the rows. */
    public Seq pushFilters(Seq conditions) {
        for (int i = 0; i < conditions.length(); i++) {
            filters.add(PlanJson.ofExpression((Expression) conditions.apply(i)));
        }
        return conditions;
    }

    public Predicate[] pushedFilters() {
        return new Predicate[0];
    }

    /** Keeps whole columns: the fields of a struct are pruned where the files are read. */
    public void pruneColumns(StructType required) {
        StructType kept = new StructType();
        for (int i = 0; i < required.length(); i++) {
            String name = required.apply(i).name();
            Option index = table.schema.getFieldIndex(name);
            kept = kept.add(index.isDefined()
                    ? table.schema.apply(((Integer) index.get()).intValue())
                    : table.metadata.apply(name));
        }
        columns = kept;
    }

    public Scan build() {
        return this;
    }

    public StructType readSchema() {
        return columns;
    }

    public String description() {
        return table.name();
    }

    public BaseRelation toV1TableScan(SQLContext context) {
        return new RowScan(this, context);
    }
}

final class RowScan extends BaseRelation implements TableScan {
    private final LazyScan scan;
    private final SQLContext context;

    RowScan(LazyScan scan, SQLContext context) {
        this.scan = scan;
        this.context = context;
    }

    public SQLContext sqlContext() {
        return context;
    }

    public StructType schema() {
        return scan.readSchema();
    }

    public String toString() {
        return "IcebergRows";
    }

    public RDD buildScan() {
        SparkSession session = (SparkSession) context.sparkSession();
        Seq attributes = org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes(schema());
        return Dataset.ofRows(session, scan.rows(session, attributes, false)).rdd();
    }
}

/**
 * Replaces scans of lazy tables by optimized plans of their rows.
 *
 * It runs after Spark has pushed conditions and columns down to the scans, so these are pushed on into
 * the plans here; nested columns are pruned last.
 */
final class ExpandScans extends Rule {
    private final SparkSession session;

    private ExpandScans(SparkSession session) {
        this.session = session;
    }

    /** Adds the rule to a session, once, before others: these prune the files of the plans. */
    static void install(SparkSession session) {
        List rules = new ArrayList();
        rules.add(new ExpandScans(session));
        Seq installed = session.experimental().extraOptimizations();
        for (int i = 0; i < installed.length(); i++) {
            if (!(installed.apply(i) instanceof ExpandScans)) {
                rules.add(installed.apply(i));
            }
        }
        session.experimental().extraOptimizations_$eq(CollectionConverters.asScala(rules).toSeq());
    }

    public TreeNode apply(TreeNode plan) {
        if (plan instanceof Subquery || plan instanceof DeleteFromTable) {
            return plan; // a subquery may become part of a join; one that is left is expanded with the query
        }
        Expansion expansion = new Expansion(session);
        LogicalPlan expanded = (LogicalPlan) ((LogicalPlan) plan).transformDownWithSubqueries(expansion);
        return expansion.count == 0 ? plan : SchemaPruning$.MODULE$.apply(prunedByJoins(pushedDown(expanded)));
    }

    /** Adds Spark's dynamic partition pruning, whose rule ran when the tables had no partitions yet. */
    private static LogicalPlan prunedByJoins(LogicalPlan plan) {
        LogicalPlan pruned = PartitionPruning$.MODULE$.apply(plan);
        return pruned.fastEquals(plan) ? plan : CleanupDynamicPruningFilters$.MODULE$.apply(pushedDown(pruned));
    }

    private static LogicalPlan pushedDown(LogicalPlan plan) {
        LogicalPlan before = null;
        for (int i = 0; i < 10 && plan != before; i++) {
            before = plan;
            plan = PushDownPredicates$.MODULE$.apply(plan);
            plan = PushProjectionThroughUnion$.MODULE$.apply(plan);
            plan = ColumnPruning$.MODULE$.apply(plan);
            plan = CollapseProject$.MODULE$.apply(plan);
            plan = PropagateEmptyRelation$.MODULE$.apply(plan);
            plan = RemoveNoopOperators$.MODULE$.apply(plan);
            plan = plan.fastEquals(before) ? before : plan;
        }
        return plan;
    }
}

/** Plans of rows in the places of scans of lazy tables. */
final class Expansion extends AbstractPartialFunction {
    private final SparkSession session;
    int count = 0;

    Expansion(SparkSession session) {
        this.session = session;
    }

    public boolean isDefinedAt(Object plan) {
        return LazyScan.of(plan) != null || countedScan(plan) != null;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
        LogicalPlan counted = countedScan(plan);
        if (counted != null) {
            Seq child = CollectionConverters.asScala(Collections.singletonList(rows(counted, true))).toSeq();
            return ((LogicalPlan) plan).withNewChildren(child);
        }
        return LazyScan.of(plan) == null ? otherwise.apply(plan) : rows((LogicalPlan) plan, false);
    }

    private LogicalPlan rows(LogicalPlan scan, boolean isCounted) {
        count++;
        return LazyScan.of(scan).rows(session, scan.output(), isCounted);
    }

    /**
     * Returns the scan below an aggregate whose result depends only on the number of rows, as COUNT(*);
     * null for any other plan.
     */
    private static LogicalPlan countedScan(Object plan) {
        if (!(plan instanceof Aggregate) || !((Aggregate) plan).groupingExpressions().isEmpty()) {
            return null;
        }
        Aggregate aggregate = (Aggregate) plan;
        LogicalPlan child = aggregate.child();
        while (child instanceof Project && ((Project) child).projectList().isEmpty()) {
            child = ((Project) child).child();
        }
        // A function such as spark_partition_id() is not deterministic.
        boolean isOfNumber = aggregate.references().isEmpty() && PlanJson.isDeterministic(aggregate);
        return isOfNumber && LazyScan.of(child) != null ? child : null;
    }
}
