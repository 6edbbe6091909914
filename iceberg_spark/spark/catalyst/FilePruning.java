package iceberg_spark;

import java.util.ArrayList;
import java.util.Base64;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;

import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** Adds the rule below to the optimizer of a session. */
public class FilePruning {
    private static final ThreadLocal PAUSED = new ThreadLocal();

    /** Stops the rule in this thread, or lets it go on; returns whether it was stopped before. */
    public static boolean pause(boolean isPaused) {
        boolean before = isPaused();
        PAUSED.set(Boolean.valueOf(isPaused));
        return before;
    }

    static boolean isPaused() {
        return Boolean.TRUE.equals(PAUSED.get());
    }

    /**
     * Adds the rule unless the session has it.
     *
     * @param choose takes the relations of a plan as JSON, and the plan, see `PruneFiles`
     * @param mark the option whose value tells Python which relation it is
     * @param timeoutMs how long a plan waits for Python
     */
    public void install(SparkSession session, BiFunction choose, String mark, long timeoutMs) {
        if (!isInstalled(session)) {
            List rules = new ArrayList(CollectionConverters.asJava(session.experimental().extraOptimizations()));
            rules.add(new PruneFiles(choose, mark, timeoutMs));
            session.experimental().extraOptimizations_$eq(CollectionConverters.asScala(rules).toSeq());
        }
    }

    /** Returns whether the session's optimizer has the rule. */
    public boolean isInstalled(SparkSession session) {
        Seq rules = session.experimental().extraOptimizations();
        for (int i = 0; i < rules.length(); i++) {
            if (rules.apply(i) instanceof PruneFiles) {
                return true;
            }
        }
        return false;
    }
}

/**
 * Removes files from the relations of a plan that no row can come from, corrects the sizes that they
 * report, and filters their rows by the keys of joins.
 *
 * The rule runs after Spark has pushed filters and projections down. It collects the planned relations
 * of the plan and of the subqueries that are left in it, each with the conditions and projections
 * directly above it, and calls Python once:
 *
 *   request: {"relations": [{"number": 0, "leaf": 0 (-1 in a subquery), "mark": "5f…",
 *                            "columns": ["id", …] or null for all, "filters": [expression, …]}, …],
 *             "aggregates": [{"number": 0, "relations": [0, …], "groups": [["day", …], …],
 *                             "functions": [{"name": "count", "columns": ["id", …] or null for *}, …]}, …]}
 *
 * Python makes its changes by the methods of `PlanQuery`, and returns whether they are complete.
 *
 * A second application leaves the plan unchanged. After an error or a timeout the plan is unchanged
 * too, so the query reads more files and returns the same rows.
 */
final class PruneFiles extends Rule {
    private static final String AGGREGATES = "spark.sql.iceberg.aggregate-push-down.enabled";
    private static final ExecutorService PYTHON = threads();

    private final BiFunction choose;
    private final String mark;
    private final long timeoutMs;

    PruneFiles(BiFunction choose, String mark, long timeoutMs) {
        this.choose = choose;
        this.mark = mark;
        this.timeoutMs = timeoutMs;
    }

    /** Returns threads that stay: py4j opens a connection, and a thread of Python, for each new one. */
    private static ExecutorService threads() {
        ThreadPoolExecutor threads = (ThreadPoolExecutor) Executors.newCachedThreadPool(new PruningThreads());
        threads.setKeepAliveTime(365L, TimeUnit.DAYS);
        return threads;
    }

    public TreeNode apply(TreeNode plan) {
        if (plan instanceof Subquery || FilePruning.isPaused()) {
            return plan; // it may become part of a join; one that is left is pruned with the query
        }
        try {
            Scans scans = new Scans((LogicalPlan) plan, !conf().getConfString(AGGREGATES, "true").equalsIgnoreCase("false"));
            PlanQuery query = new PlanQuery((LogicalPlan) plan, scans);
            return scans.areToPrune() && ask(scans.described(mark), query) ? query.plan() : plan;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return plan;
        } catch (Exception e) {
            return plan; // Python has logged why; without Python there is nobody to tell
        }
    }

    /** Calls Python in a thread of its own, so that a cancelled query or a hanging call can be left. */
    private boolean ask(String request, PlanQuery query) throws Exception {
        Future answer = PYTHON.submit(new PythonCall(choose, request, query));
        try {
            return ((Boolean) answer.get(timeoutMs, TimeUnit.MILLISECONDS)).booleanValue();
        } finally {
            answer.cancel(true);
        }
    }
}

/** A plan that is being pruned: what Python changes of it, and what it reads. */
public final class PlanQuery {
    private final LogicalPlan original;
    private final Scans scans;

    PlanQuery(LogicalPlan original, Scans scans) {
        this.original = original;
        this.scans = scans;
    }

    /**
     * Removes files.
     *
     * @param changes a line for each relation that changes: its number, the bytes of the columns that
     *     are used, and the files to keep as base64 of a bit set, or "*" for all
     */
    public void prune(String changes) {
        String[] lines = changes.split("\n");
        for (int i = 0; i < lines.length; i++) {
            String[] parts = lines[i].split(" ");
            if (parts.length == 3) {
                BitSet kept = parts[2].equals("*") ? null : BitSet.valueOf(Base64.getDecoder().decode(parts[2]));
                scans.get(Integer.parseInt(parts[0])).prune(kept, Long.parseLong(parts[1]));
            }
        }
    }

    /**
     * Keeps the rows of a relation whose column has one of some values.
     *
     * @param values an array of values, or a plan that gives a Bloom filter
     */
    public void filter(int number, int column, Object values) {
        Scan scan = scans.get(number);
        if (values instanceof Object[] && ((Object[]) values).length == 0) {
            scan.prune(new BitSet(), 0L);
            return;
        }
        scan.filter(KeyFilters.condition((Expression) scan.relation().output().apply(column), values));
    }

    /** Returns a plan that makes a Bloom filter of a column of a relation, see `KeyFilters.bloomOf`. */
    public LogicalPlan bloomOf(
            int number, int column, List columns, List values, long items, long bits, String name) {
        Scan scan = scans.get(number);
        return KeyFilters.bloomOf(scan.relation(), scan.conditions(), column, columns, values, items, bits, name);
    }

    /**
     * Answers an aggregate from metadata.
     *
     * @param rows a JSON array for each group, with the texts of its columns and of its functions as
     *     Spark keeps them, or null
     */
    public void answer(int number, String rows) throws Exception {
        scans.aggregate(number).answer((String[][]) new ObjectMapper().readValue(rows, String[][].class));
    }

    /** Returns the plan with all changes. */
    public LogicalPlan plan() {
        return (LogicalPlan) original.transformUpWithSubqueries(new Replacing(scans));
    }

    /** Returns the plan as JSON, see `PlanJson`; its subqueries are left out. */
    public StringBuilder tree(SparkSession session) throws Exception {
        Option before = SparkSession.getActiveSession();
        SparkSession.setActiveSession(session); // estimates of sizes read the active session's settings
        try {
            return new StringBuilder(new ObjectMapper().writeValueAsString(PlanJson.ofPlan(plan())));
        } finally {
            if (before.isDefined()) {
                SparkSession.setActiveSession((SparkSession) before.get());
            } else {
                SparkSession.clearActiveSession();
            }
        }
    }
}

/** The leaves of a plan and its subqueries, in the order of `transformUpWithSubqueries`. */
final class Scans {
    /** A `Scan` for each planned relation, the plan itself for any other leaf. */
    private final List leaves = new ArrayList();
    /** A `MetadataAggregate` for each aggregate that metadata may answer, null for any other. */
    private final List aggregates = new ArrayList();
    private final boolean areAggregatesAnswered;
    private int leafCount;

    Scans(LogicalPlan plan, boolean areAggregatesAnswered) {
        this.areAggregatesAnswered = areAggregatesAnswered;
        collect(plan, new ArrayList(), new ArrayList(), false, true);
    }

    int size() {
        return leaves.size();
    }

    /** Returns a leaf as it is in the plan. */
    LogicalPlan leaf(int number) {
        Object leaf = leaves.get(number);
        return leaf instanceof Scan ? ((Scan) leaf).original() : (LogicalPlan) leaf;
    }

    /** Returns a planned relation that can be pruned, null for any other leaf. */
    Scan get(int number) {
        Object leaf = leaves.get(number);
        return leaf instanceof Scan && !((Scan) leaf).isPruned() ? (Scan) leaf : null;
    }

    MetadataAggregate aggregate(int number) {
        return (MetadataAggregate) aggregates.get(number);
    }

    /** Returns whether anything is known of the rows that are used. */
    boolean areToPrune() {
        int count = 0;
        boolean isRestricted = false;
        for (int i = 0; i < leaves.size(); i++) {
            if (get(i) != null) {
                count++;
                isRestricted |= get(i).isRestricted();
            }
        }
        return isRestricted || count > 1 || hasAggregates();
    }

    private boolean hasAggregates() {
        for (int i = 0; i < aggregates.size(); i++) {
            if (aggregate(i) != null) {
                return true;
            }
        }
        return false;
    }

    String described(String mark) throws Exception {
        List relations = new ArrayList();
        for (int i = 0; i < leaves.size(); i++) {
            if (get(i) != null) {
                relations.add(get(i).described(i, mark));
            }
        }
        List answerable = new ArrayList();
        for (int i = 0; i < aggregates.size(); i++) {
            if (aggregate(i) != null) {
                answerable.add(aggregate(i).described(i));
            }
        }
        java.util.Map request = new LinkedHashMap();
        request.put("relations", relations);
        request.put("aggregates", answerable);
        return new ObjectMapper().writeValueAsString(request);
    }

    /**
     * Adds the leaves of a plan.
     *
     * @param conditions those that hold for every row that is used of the plan's rows
     * @param used the expressions above the plan, as far as projections and filters follow each other
     * @param isProjected whether only the columns in `used` are used
     */
    private void collect(LogicalPlan plan, List conditions, List used, boolean isProjected, boolean isOfQuery) {
        int first = leaves.size();
        if (plan.children().isEmpty()) {
            Scan scan = Scan.of(plan, leaves.size(), isOfQuery ? leafCount : -1, conditions, isProjected ? used : null);
            leaves.add(scan == null ? (Object) plan : scan);
            leafCount += isOfQuery ? 1 : 0;
        } else if (plan instanceof Filter) {
            Expression condition = ((Filter) plan).condition();
            // A random condition depends on the rows that it is evaluated for, so only the conjuncts
            // before it may remove some of them.
            List below = condition.deterministic() ? new ArrayList(conditions) : new ArrayList();
            addConjuncts(condition, below);
            List all = new ArrayList(used);
            all.add(condition);
            collect(((Filter) plan).child(), below, all, isProjected, isOfQuery);
        } else if (plan instanceof Project) {
            Seq projections = ((Project) plan).projectList();
            List all = new ArrayList(used);
            for (int i = 0; i < projections.length(); i++) {
                all.add(projections.apply(i));
            }
            List below = PlanJson.isDeterministic(plan) ? conditions : new ArrayList();
            collect(((Project) plan).child(), below, all, true, isOfQuery);
        } else {
            Seq children = plan.children();
            for (int i = 0; i < children.length(); i++) {
                collect((LogicalPlan) children.apply(i), new ArrayList(), new ArrayList(), false, isOfQuery);
            }
        }
        Seq subqueries = plan.subqueries();
        for (int i = 0; i < subqueries.length(); i++) {
            collect((LogicalPlan) subqueries.apply(i), new ArrayList(), new ArrayList(), false, false);
        }
        if (plan instanceof Aggregate) {
            aggregates.add(areAggregatesAnswered ? MetadataAggregate.of((Aggregate) plan, this, first) : null);
        }
    }

    /** Adds the conjuncts of a condition up to the first that is not deterministic. */
    private static boolean addConjuncts(Expression condition, List conjuncts) {
        if (condition instanceof And) {
            return addConjuncts(((And) condition).left(), conjuncts) && addConjuncts(((And) condition).right(), conjuncts);
        }
        if (condition.deterministic()) {
            conjuncts.add(condition);
        }
        return condition.deterministic();
    }
}

/** Puts the changed leaves of a plan in their places. */
final class Replacing extends AbstractPartialFunction {
    private final Scans scans;
    private int count;
    private int aggregateCount;

    Replacing(Scans scans) {
        this.scans = scans;
    }

    public boolean isDefinedAt(Object plan) {
        return true;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
        if (plan instanceof Aggregate) {
            MetadataAggregate aggregate = scans.aggregate(aggregateCount++);
            return aggregate == null ? plan : aggregate.changed((Aggregate) plan);
        }
        if (!((LogicalPlan) plan).children().isEmpty()) {
            return plan;
        }
        if (count == scans.size() || scans.leaf(count) != plan) {
            throw new IllegalStateException("the leaves of the plan come in another order");
        }
        Scan scan = scans.get(count++);
        return scan == null ? plan : scan.changed();
    }
}

/** A planned relation in a plan, with what is used of its rows, and what is changed of it. */
final class Scan {
    private final LogicalRelation original;
    private final PlannedFiles files;
    private final int number;
    private final int leafIndex;
    private final boolean isExact;
    private final List conditions = new ArrayList();
    private final List used;

    private LogicalRelation relation;
    private Expression keys;

    private Scan(LogicalRelation original, PlannedFiles files, int number, int leafIndex, List conditions, List used) {
        this.original = original;
        this.files = files;
        this.number = number;
        this.leafIndex = leafIndex;
        this.used = used;
        for (int i = 0; i < conditions.size(); i++) {
            Expression condition = (Expression) conditions.get(i);
            boolean isOfRelation = condition.references().subsetOf(original.outputSet());
            if (isOfRelation && !condition.containsPattern(TreePattern$.MODULE$.PLAN_EXPRESSION())) {
                this.conditions.add(condition);
            }
        }
        this.isExact = this.conditions.size() == conditions.size();
        this.relation = with(files.pruned(null, files.sizeInBytes()));
    }

    static Scan of(LogicalPlan leaf, int number, int leafIndex, List conditions, List used) {
        if (!(leaf instanceof LogicalRelation) || !(((LogicalRelation) leaf).relation() instanceof HadoopFsRelation)) {
            return null;
        }
        LogicalRelation relation = (LogicalRelation) leaf;
        Object location = ((HadoopFsRelation) relation.relation()).location();
        return location instanceof PlannedFiles
                ? new Scan(relation, (PlannedFiles) location, number, leafIndex, conditions, used)
                : null;
    }

    int number() {
        return number;
    }

    LogicalRelation original() {
        return original;
    }

    /** Returns whether `conditions` are all conditions above the relation, up to the next other node. */
    boolean isExact() {
        return isExact;
    }

    /** The relation over the files that are kept. */
    LogicalRelation relation() {
        return relation;
    }

    /** The conditions about columns of the relation that hold for each row that is used. */
    List conditions() {
        return conditions;
    }

    boolean isPruned() {
        return files.isPruned();
    }

    boolean isRestricted() {
        return used != null || !conditions.isEmpty();
    }

    java.util.Map described(int number, String mark) {
        java.util.Map described = new LinkedHashMap();
        described.put("number", Integer.valueOf(number));
        described.put("leaf", Integer.valueOf(leafIndex));
        described.put("mark", ((HadoopFsRelation) original.relation()).options().apply(mark));
        described.put("columns", used == null ? null : usedColumns());
        List filters = new ArrayList();
        for (int i = 0; i < conditions.size(); i++) {
            filters.add(PlanJson.ofExpression((Expression) conditions.get(i)));
        }
        described.put("filters", filters);
        return described;
    }

    private List usedColumns() {
        List names = new ArrayList();
        for (int i = 0; i < original.output().length(); i++) {
            Attribute column = (Attribute) original.output().apply(i);
            if (isUsed(column)) {
                names.add(column.name());
            }
        }
        return names;
    }

    private boolean isUsed(Attribute column) {
        for (int i = 0; used != null && i < used.size(); i++) {
            if (((Expression) used.get(i)).references().contains(column)) {
                return true;
            }
        }
        return used == null;
    }

    /**
     * Keeps some of the files; null for all.
     *
     * Spark estimates what a projection leaves of a relation by the widths of its types, so the relation
     * reports its size multiplied by the reverse.
     *
     * @param usedBytes the bytes of the columns that are used
     */
    void prune(BitSet kept, long usedBytes) {
        double allWidths = 8;
        double usedWidths = 8;
        for (int i = 0; i < original.output().length(); i++) {
            Attribute column = (Attribute) original.output().apply(i);
            allWidths += column.dataType().defaultSize();
            usedWidths += isUsed(column) ? column.dataType().defaultSize() : 0;
        }
        relation = with(files.pruned(kept, (long) (usedBytes * allWidths / usedWidths)));
    }

    void filter(Expression condition) {
        keys = keys == null ? condition : new And(keys, condition);
    }

    LogicalPlan changed() {
        return keys == null ? (LogicalPlan) relation : new Filter(keys, relation);
    }

    private LogicalRelation with(PlannedFiles some) {
        HadoopFsRelation old = (HadoopFsRelation) original.relation();
        Object[] parts = new Object[original.productArity()];
        for (int i = 1; i < parts.length; i++) {
            parts[i] = original.productElement(i);
        }
        parts[0] = new HadoopFsRelation(
                some, old.partitionSchema(), old.dataSchema(), old.bucketSpec(), old.fileFormat(), old.options(),
                old.sparkSession());
        return (LogicalRelation) original.makeCopy(parts);
    }
}

/** An aggregate of whole relations, in groups of columns or of all rows: metadata may tell its values. */
final class MetadataAggregate {
    private final List scans;
    private final List groups;
    private final List names;
    private final List functions;
    private final List described;
    private Seq rows;

    private MetadataAggregate(List scans, List groups, List names, List functions, List described) {
        this.scans = scans;
        this.groups = groups;
        this.names = names;
        this.functions = functions;
        this.described = described;
    }

    /** Returns null if metadata can't answer; the leaves below the aggregate start at `first`. */
    static MetadataAggregate of(Aggregate plan, Scans all, int first) {
        List scans = new ArrayList();
        if (!addScans(plan.child(), false, all, first, scans) || scans.isEmpty()) {
            return null;
        }
        List groups = new ArrayList();
        List names = new ArrayList();
        for (int i = 0; i < plan.groupingExpressions().length(); i++) {
            Object group = plan.groupingExpressions().apply(i);
            List columns = new ArrayList();
            if (!addColumns(group, plan.child(), columns) || !isComparedByValue(((Attribute) group).dataType())) {
                return null;
            }
            groups.add(group);
            names.add(columns);
        }
        List functions = new ArrayList();
        List described = new ArrayList();
        for (int i = 0; i < plan.aggregateExpressions().length(); i++) {
            Expression expression = (Expression) plan.aggregateExpressions().apply(i);
            if (!addFunctions(expression, plan.child(), groups, functions, described)) {
                return null;
            }
        }
        boolean isConstant = functions.isEmpty() && groups.isEmpty();
        return isConstant ? null : new MetadataAggregate(scans, groups, names, functions, described);
    }

    /** Whether equal values of a type are one group: not so for texts with a collation. */
    private static boolean isComparedByValue(DataType type) {
        return !(type instanceof StringType) || type == DataTypes.StringType;
    }

    /**
     * Adds the scans below a plan; returns false if other conditions than theirs may leave out rows.
     *
     * Between may be projections, filters and unions. A scan has the conditions down from the last union,
     * and from the last random projection.
     */
    private static boolean addScans(LogicalPlan plan, boolean isFiltered, Scans all, int first, List scans) {
        if (plan.children().isEmpty()) {
            int number = first + scans.size();
            Scan scan = all.leaf(number) == plan ? all.get(number) : null;
            return scan != null && scan.isExact() && scans.add(scan);
        }
        boolean isPassing = plan instanceof Filter || plan instanceof Project || plan instanceof Union && !isFiltered;
        if (!isPassing || !PlanJson.isDeterministic(plan)) {
            return false;
        }
        for (int i = 0; i < plan.children().length(); i++) {
            LogicalPlan child = (LogicalPlan) plan.children().apply(i);
            if (!addScans(child, isFiltered || plan instanceof Filter, all, first, scans)) {
                return false;
            }
        }
        return true;
    }

    /** Adds the functions of an expression; returns false for one that metadata can't answer. */
    private static boolean addFunctions(
            Expression expression, LogicalPlan child, List groups, List functions, List described) {
        if (!(expression instanceof AggregateExpression)) {
            for (int i = 0; i < expression.children().length(); i++) {
                Expression part = (Expression) expression.children().apply(i);
                if (!addFunctions(part, child, groups, functions, described)) {
                    return false;
                }
            }
            return !(expression instanceof Attribute) || isGroup((Attribute) expression, groups);
        }
        AggregateExpression aggregate = (AggregateExpression) expression;
        Expression function = aggregate.aggregateFunction();
        if (aggregate.isDistinct() || aggregate.filter().isDefined() || function.children().length() != 1) {
            return false;
        }
        String name = function instanceof Count ? "count"
                : function instanceof Min ? "min" : function instanceof Max ? "max" : null;
        Object argument = function.children().apply(0);
        boolean isOfRows = name != null && name.equals("count") && argument instanceof Literal && ((Literal) argument).value() != null;
        List columns = new ArrayList();
        if (name == null || !isOfRows && !addColumns(argument, child, columns)) {
            return false;
        }
        java.util.Map json = new LinkedHashMap();
        json.put("name", name);
        json.put("columns", isOfRows ? null : columns);
        functions.add(aggregate);
        described.add(json);
        return true;
    }

    private static boolean isGroup(Attribute column, List groups) {
        for (int i = 0; i < groups.size(); i++) {
            if (((Attribute) groups.get(i)).exprId().equals(column.exprId())) {
                return true;
            }
        }
        return false;
    }

    /** Adds the names that a column has in each of the relations; returns false if it is none of theirs. */
    private static boolean addColumns(Object column, LogicalPlan plan, List names) {
        if (!(column instanceof Attribute)) {
            return false;
        }
        long id = ((Attribute) column).exprId().id();
        if (plan instanceof Filter) {
            return addColumns(column, ((Filter) plan).child(), names);
        }
        if (plan instanceof Project) {
            Seq projections = ((Project) plan).projectList();
            for (int i = 0; i < projections.length(); i++) {
                Object projection = projections.apply(i);
                if (((NamedExpression) projection).exprId().id() == id) {
                    Object below = projection instanceof Alias ? ((Alias) projection).child() : projection;
                    return addColumns(below, ((Project) plan).child(), names);
                }
            }
            return false;
        }
        for (int i = 0; i < plan.output().length(); i++) {
            if (((Attribute) plan.output().apply(i)).exprId().id() == id) {
                if (plan.children().isEmpty()) {
                    names.add(((Attribute) column).name());
                    return true;
                }
                boolean isOfAll = true;
                for (int j = 0; j < plan.children().length(); j++) {
                    LogicalPlan child = (LogicalPlan) plan.children().apply(j);
                    isOfAll &= addColumns(child.output().apply(i), child, names);
                }
                return isOfAll;
            }
        }
        return false;
    }

    java.util.Map described(int number) {
        List numbers = new ArrayList();
        for (int i = 0; i < scans.size(); i++) {
            numbers.add(Integer.valueOf(((Scan) scans.get(i)).number()));
        }
        java.util.Map json = new LinkedHashMap();
        json.put("number", Integer.valueOf(number));
        json.put("relations", numbers);
        json.put("groups", names);
        json.put("functions", described);
        return json;
    }

    void answer(String[][] texts) {
        List output = output();
        List groupRows = new ArrayList();
        for (int i = 0; i < texts.length; i++) {
            Object[] row = new Object[output.size()];
            for (int j = 0; j < row.length; j++) {
                row[j] = texts[i][j] == null ? null : PlannedRelations.value(((Attribute) output.get(j)).dataType(), texts[i][j]);
            }
            groupRows.add(new GenericInternalRow(row));
        }
        rows = CollectionConverters.asScala(groupRows).toSeq();
    }

    /** Returns the columns of the groups, followed by the results of the functions. */
    private List output() {
        List output = new ArrayList(groups);
        output.addAll(results());
        return output;
    }

    private List results() {
        List results = new ArrayList();
        for (int i = 0; i < functions.size(); i++) {
            results.add(((AggregateExpression) functions.get(i)).resultAttribute());
        }
        return results;
    }

    /** Returns the rows of the groups in place of the aggregate, if they are known. */
    LogicalPlan changed(Aggregate plan) {
        if (rows == null) {
            return plan;
        }
        Answering answering = new Answering(functions, results());
        List columns = new ArrayList();
        for (int i = 0; i < plan.aggregateExpressions().length(); i++) {
            columns.add(((Expression) plan.aggregateExpressions().apply(i)).transform(answering));
        }
        Seq output = CollectionConverters.asScala(output()).toSeq();
        LocalRelation groupRows = new LocalRelation(output, rows, false, Option.empty());
        return new Project(CollectionConverters.asScala(columns).toSeq(), groupRows);
    }
}

/** Results in place of the functions of an aggregate. */
final class Answering extends AbstractPartialFunction {
    private final List functions;
    private final List results;

    Answering(List functions, List results) {
        this.functions = functions;
        this.results = results;
    }

    public boolean isDefinedAt(Object expression) {
        return functions.contains(expression);
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
        int i = functions.indexOf(expression);
        return i < 0 ? otherwise.apply(expression) : results.get(i);
    }
}

/** Calls Python. */
final class PythonCall implements Callable {
    private final BiFunction choose;
    private final String request;
    private final PlanQuery query;

    PythonCall(BiFunction choose, String request, PlanQuery query) {
        this.choose = choose;
        this.request = request;
        this.query = query;
    }

    public Object call() {
        return choose.apply(request, query);
    }
}

/** Makes threads that do not keep the JVM alive. */
final class PruningThreads implements ThreadFactory {
    public Thread newThread(Runnable task) {
        Thread thread = new Thread(task, "iceberg-file-pruning");
        thread.setDaemon(true);
        return thread;
    }
}
