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
import org.apache.spark.sql.catalyst.optimizer.ColumnPruning$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
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
     * relation has in rows for which some conditions hold.
     *
     * @param column the number of the column, `columns` those of columns that have one of `values`
     * @param items how many values there may be
     */
    public static LogicalPlan bloomOf(
            LogicalRelation relation, List conditions, int column, List columns, List values, long items, long bits,
            String name) {
        LogicalRelation own = (LogicalRelation) relation.newInstance();
        Renaming renaming = new Renaming(relation, own);
        LogicalPlan rows = own;
        for (int i = 0; i < conditions.size(); i++) {
            rows = new Filter((Expression) ((Expression) conditions.get(i)).transform(renaming), rows);
        }
        for (int i = 0; i < values.size(); i++) {
            Expression has = (Expression) own.output().apply(((Integer) columns.get(i)).intValue());
            rows = new Filter(condition(has, values.get(i)), rows);
        }
        Expression key = hash((Expression) own.output().apply(column));
        Expression made = new BloomFilterAggregate(
                key, new Literal(Long.valueOf(items), DataTypes.LongType), new Literal(Long.valueOf(bits), DataTypes.LongType))
                .toAggregateExpression();
        Seq none = CollectionConverters.asScala(new ArrayList()).toSeq();
        Object only = new Alias(made, name, NamedExpression$.MODULE$.newExprId(), none, Option.empty(), none);
        Aggregate filter = new Aggregate(none, seq(only), rows, Option.empty());
        filter.setAnalyzed();
        return ColumnPruning$.MODULE$.apply(filter);
    }

    /** Returns the condition that a column has one of some values: an array, or a plan that gives a Bloom filter. */
    public static Expression condition(Expression column, Object values) {
        if (values instanceof LogicalPlan) {
            Expression filter = new ScalarSubquery(
                    (LogicalPlan) values, CollectionConverters.asScala(new ArrayList()).toSeq(), NamedExpression$.MODULE$.newExprId(),
                    CollectionConverters.asScala(new ArrayList()).toSeq(), Option.empty(), Option.empty(), Option.empty());
            return new BloomFilterMightContain(filter, hash(column));
        }
        Object[] every = (Object[]) values;
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
