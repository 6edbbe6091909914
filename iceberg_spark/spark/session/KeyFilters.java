package iceberg_spark;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BloomFilterMightContain;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.catalyst.expressions.aggregate.BloomFilterAggregate;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.sketch.BloomFilter;

import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Filters relations of a plan by keys: rows whose column has none of some values are left out.
 *
 * This is compiled in the driver as `PlannedRelations` is. What a filter needs on an executor, a
 * Bloom filter and a hash, is Spark's own.
 */
public class KeyFilters {
    private static final long SEED = 42L;

    /**
     * Returns a line for each relation of files of a plan and of its subqueries: the ids of its
     * columns, parted by commas, and behind a space the option that marks it, if it has that.
     */
    public StringBuilder relations(LogicalPlan plan, String option) {
        StringBuilder said = new StringBuilder();
        Seq relations = plan.collectWithSubqueries(new Relations());
        for (int at = 0; at < relations.length(); at++) {
            LogicalRelation relation = (LogicalRelation) relations.apply(at);
            Seq output = relation.output();
            for (int column = 0; column < output.length(); column++) {
                said.append(column == 0 ? "" : ",").append(((Attribute) output.apply(column)).exprId().id());
            }
            Option mark = ((HadoopFsRelation) relation.relation()).options().get(option);
            said.append(' ').append(mark.isDefined() ? mark.get() : "").append('\n');
        }
        return said;
    }

    /**
     * Returns how many bytes Spark takes each node of a plan for, a node before its children; with a
     * minus before it where the node's expressions have other values each time.
     */
    public String sizes(LogicalPlan plan) {
        StringBuilder found = new StringBuilder();
        addSizes(plan, found);
        return found.toString();
    }

    /** Returns the conditions of the filters of a plan, a node's before those of its children. */
    public List conditions(LogicalPlan plan) {
        List found = new ArrayList();
        addConditions(plan, found);
        return found;
    }

    /** Returns whether a plan has rows that Spark keeps. */
    public boolean isCached(LogicalPlan plan) {
        Seq leaves = plan.collectLeaves();
        for (int at = 0; at < leaves.length(); at++) {
            if (leaves.apply(at) instanceof InMemoryRelation) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns values of a type as Spark keeps them.
     *
     * @param packed whole numbers of eight bytes, the lowest first: days, microseconds, or a decimal
     *     without its point
     */
    public Object[] values(byte[] packed, DataType type) {
        ByteBuffer numbers = ByteBuffer.wrap(packed).order(ByteOrder.LITTLE_ENDIAN);
        Object[] found = new Object[packed.length / 8];
        for (int at = 0; at < found.length; at++) {
            found[at] = value(numbers.getLong(), type);
        }
        return found;
    }

    /** Returns texts as Spark keeps them. */
    public Object[] values(String[] texts) {
        Object[] found = new Object[texts.length];
        for (int at = 0; at < found.length; at++) {
            found[at] = UTF8String.fromString(texts[at]);
        }
        return found;
    }

    /**
     * Returns a Bloom filter of values of a type, of so many bits, as a relation of one row.
     *
     * @param name what people see of it in a plan
     */
    public LocalRelation bloom(Object[] values, DataType type, long bits, String name) throws IOException {
        XxHash64 hash = hash(new BoundReference(0, type, true));
        BloomFilter filter = BloomFilter.create(values.length, bits);
        GenericInternalRow row = new GenericInternalRow(1);
        for (int at = 0; at < values.length; at++) {
            row.update(0, values[at]);
            filter.putLong(((Long) hash.eval(row)).longValue());
        }
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        filter.writeTo(written);
        LocalRelation empty = LocalRelation$.MODULE$.apply(new StructType().add(name, DataTypes.BinaryType));
        Object only = new GenericInternalRow(new Object[] {written.toByteArray()});
        return new LocalRelation(empty.output(), seq(only), false, Option.empty());
    }

    /**
     * Returns a plan by which Spark makes a Bloom filter itself: of the values that a column of a
     * relation has in rows that some conditions hold for.
     *
     * @param relation a place among those of `relations`, `column` that of one of its columns
     * @param conditions are about the relation's columns; one with a subquery is left out
     * @param columns the places of columns that have some of `values`, as in `filtered`
     * @param items how many values there may be
     */
    public LogicalPlan bloomOf(
            LogicalPlan plan, int relation, int column, List conditions, List columns, List values,
            long items, long bits, String name) {
        LogicalRelation known = (LogicalRelation) plan.collectWithSubqueries(new Relations()).apply(relation);
        LogicalRelation own = (LogicalRelation) known.newInstance();
        Renaming renaming = new Renaming(known, own);
        LogicalPlan rows = own;
        for (int at = 0; at < conditions.size(); at++) {
            Expression condition = (Expression) conditions.get(at);
            if (condition.deterministic() && !condition.containsPattern(TreePattern$.MODULE$.PLAN_EXPRESSION())) {
                rows = new Filter((Expression) condition.transform(renaming), rows);
            }
        }
        for (int at = 0; at < values.size(); at++) {
            Expression has = (Expression) own.output().apply(((Integer) columns.get(at)).intValue());
            rows = new Filter(condition(has, values.get(at)), rows);
        }
        Expression key = hash((Expression) own.output().apply(column));
        Expression made = new BloomFilterAggregate(
                key, new Literal(Long.valueOf(items), DataTypes.LongType), new Literal(Long.valueOf(bits), DataTypes.LongType))
                .toAggregateExpression();
        Seq none = CollectionConverters.asScala(new ArrayList()).toSeq();
        Object only = new Alias(made, name, NamedExpression$.MODULE$.newExprId(), none, Option.empty(), none);
        Aggregate filter = new Aggregate(none, seq(only), rows, Option.empty());
        filter.setAnalyzed();
        return filter;
    }

    /**
     * Returns a plan with filters above some of its relations.
     *
     * @param relations the places of relations among those of `relations`; one may come twice
     * @param columns for each the place of one of its columns
     * @param values for each an array of values, or a plan that gives a Bloom filter
     */
    public LogicalPlan filtered(LogicalPlan plan, List relations, List columns, List values) {
        Seq known = plan.collectWithSubqueries(new Relations());
        Map conditions = new HashMap();
        for (int at = 0; at < relations.size(); at++) {
            LogicalRelation relation = (LogicalRelation) known.apply(((Integer) relations.get(at)).intValue());
            Expression column = (Expression) relation.output().apply(((Integer) columns.get(at)).intValue());
            Expression condition = condition(column, values.get(at));
            Long id = id(relation);
            Expression other = (Expression) conditions.get(id);
            conditions.put(id, other == null ? condition : new And(other, condition));
        }
        LogicalPlan made = (LogicalPlan) plan.transformUpWithSubqueries(new Filtering(conditions));
        made.setAnalyzed();
        return made;
    }

    static Long id(LogicalRelation relation) {
        Seq output = relation.output();
        return Long.valueOf(output.isEmpty() ? -1L : ((Attribute) output.apply(0)).exprId().id());
    }

    private static Expression condition(Expression column, Object values) {
        if (values instanceof LogicalPlan) {
            Expression filter = new ScalarSubquery(
                    (LogicalPlan) values, CollectionConverters.asScala(new ArrayList()).toSeq(), NamedExpression$.MODULE$.newExprId(),
                    CollectionConverters.asScala(new ArrayList()).toSeq(), Option.empty(), Option.empty(), Option.empty());
            return new BloomFilterMightContain(filter, hash(column));
        }
        Object[] every = (Object[]) values;
        if (every.length == 0) {
            return Literal.FalseLiteral();
        }
        List list = new ArrayList();
        for (int at = 0; at < every.length; at++) {
            list.add(new Literal(every[at], column.dataType()));
        }
        return new In(column, CollectionConverters.asScala(list).toSeq());
    }

    private static XxHash64 hash(Expression of) {
        return new XxHash64(seq(of), SEED);
    }

    private static Seq seq(Object of) {
        List one = new ArrayList();
        one.add(of);
        return CollectionConverters.asScala(one).toSeq();
    }

    private static Object value(long number, DataType type) {
        if (type instanceof DecimalType) {
            DecimalType decimal = (DecimalType) type;
            return Decimal.apply(number, decimal.precision(), decimal.scale());
        }
        boolean isShort = type == DataTypes.IntegerType || type == DataTypes.DateType;
        return isShort ? (Object) Integer.valueOf((int) number) : (Object) Long.valueOf(number);
    }

    private static void addSizes(LogicalPlan plan, StringBuilder found) {
        found.append(found.length() == 0 ? "" : ",");
        Seq expressions = plan.expressions();
        for (int at = 0; at < expressions.length(); at++) {
            if (!((Expression) expressions.apply(at)).deterministic()) {
                found.append('-');
                break;
            }
        }
        found.append(plan.stats().sizeInBytes());
        Seq children = plan.children();
        for (int at = 0; at < children.length(); at++) {
            addSizes((LogicalPlan) children.apply(at), found);
        }
    }

    private static void addConditions(LogicalPlan plan, List found) {
        if (plan instanceof Filter) {
            found.add(((Filter) plan).condition());
        }
        Seq children = plan.children();
        for (int at = 0; at < children.length(); at++) {
            addConditions((LogicalPlan) children.apply(at), found);
        }
    }
}

/** What is a relation of files, as it is. */
final class Relations extends AbstractPartialFunction {
    public boolean isDefinedAt(Object plan) {
        return plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
        return isDefinedAt(plan) ? plan : otherwise.apply(plan);
    }
}

/** Relations below filters, by the id of their first column. */
final class Filtering extends AbstractPartialFunction {
    private final Map conditions;

    Filtering(Map conditions) {
        this.conditions = conditions;
    }

    public boolean isDefinedAt(Object plan) {
        return condition(plan) != null;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
        Expression condition = condition(plan);
        return condition == null ? otherwise.apply(plan) : new Filter(condition, (LogicalPlan) plan);
    }

    private Expression condition(Object plan) {
        return plan instanceof LogicalRelation
                ? (Expression) conditions.get(KeyFilters.id((LogicalRelation) plan))
                : null;
    }
}

/** The columns of one relation, each in place of another's at the same place. */
final class Renaming extends AbstractPartialFunction {
    private final Map columns = new HashMap();

    Renaming(LogicalRelation old, LogicalRelation made) {
        for (int at = 0; at < old.output().length(); at++) {
            columns.put(Long.valueOf(((Attribute) old.output().apply(at)).exprId().id()), made.output().apply(at));
        }
    }

    public boolean isDefinedAt(Object expression) {
        return expression instanceof Attribute
                && columns.containsKey(Long.valueOf(((Attribute) expression).exprId().id()));
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
        return isDefinedAt(expression)
                ? columns.get(Long.valueOf(((Attribute) expression).exprId().id()))
                : otherwise.apply(expression);
    }
}
