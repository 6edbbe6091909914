package iceberg_spark;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

import scala.Function1;
import scala.runtime.AbstractPartialFunction;

/**
 * Conditions by LIKE behind quicker ones that they imply.
 *
 * What is `LIKE '%special%requests%'` contains both words, which is found in the bytes of a text. Spark
 * makes a regular expression of such a pattern, and a text of Java's of each row's.
 */
public class LikeConditions {
    /**
     * Returns the frame with its analysed plan changed; itself where no condition is such, and where Spark
     * keeps rows of frames: it finds them by their plans.
     */
    public Dataset quicker(Dataset frame) {
        if (!frame.sparkSession().sharedState().cacheManager().isEmpty()) {
            return frame;
        }
        Quickening changes = new Quickening();
        LogicalPlan made = (LogicalPlan) frame.logicalPlan().transformUpWithSubqueries(new Conditions(changes));
        if (changes.times == 0) {
            return frame;
        }
        made.setAnalyzed();
        return Dataset.ofRows(frame.sparkSession(), made);
    }
}

/** Filters and joins, each with quicker conditions. */
final class Conditions extends AbstractPartialFunction {
    private final Quickening changes;

    Conditions(Quickening changes) {
        this.changes = changes;
    }

    public boolean isDefinedAt(Object plan) {
        return plan instanceof Filter || plan instanceof Join;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
        return isDefinedAt(plan) ? ((LogicalPlan) plan).transformExpressionsUp(changes) : otherwise.apply(plan);
    }
}

/** A LIKE of a column that has to contain several texts, behind the search for each. */
final class Quickening extends AbstractPartialFunction {
    int times = 0;

    public boolean isDefinedAt(Object expression) {
        return expression instanceof Like && texts((Like) expression).size() > 1;
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
        if (!isDefinedAt(expression)) {
            return otherwise.apply(expression);
        }
        times++;
        Like like = (Like) expression;
        List texts = texts(like);
        Expression made = null;
        for (int at = 0; at < texts.size(); at++) {
            Expression one = new Contains(like.left(), Literal.create(texts.get(at), DataTypes.StringType));
            made = made == null ? one : new And(made, one);
        }
        return new And(made, like);
    }

    /**
     * Returns the texts between wildcards; none of a pattern with escapes, of which some are faults, of
     * another collation, or whose texts no bytes of UTF-8 are.
     */
    private static List texts(Like like) {
        List found = new ArrayList();
        boolean isPlain = like.left() instanceof Attribute && like.left().dataType().equals(DataTypes.StringType)
                && like.right() instanceof Literal && like.right().dataType().equals(DataTypes.StringType);
        Object value = isPlain ? ((Literal) like.right()).value() : null;
        String pattern = value == null ? "" : value.toString();
        if (pattern.indexOf(like.escapeChar()) >= 0 || pattern.indexOf('\ufffd') >= 0
                || !UTF8String.fromString(pattern).toString().equals(pattern)) {
            return found;
        }
        String[] parts = pattern.split("[%_]+");
        for (int at = 0; at < parts.length; at++) {
            if (!parts[at].isEmpty()) {
                found.add(parts[at]);
            }
        }
        return found;
    }
}
