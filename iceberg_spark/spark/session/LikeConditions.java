package iceberg_spark;

import java.util.ArrayList;
import java.util.List;

import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;

import scala.Function1;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractPartialFunction;

/**
 * Conditions by LIKE behind quicker ones that they imply.
 *
 * What is `LIKE '%special%requests%'` contains both words, which is found in the bytes of a text. Spark
 * makes a regular expression of such a pattern, and a text of Java's of each row's.
 */
public class LikeConditions {
    /**
     * Returns the frame with its analysed plan changed; itself where no condition is such, where it reads
     * what is no file, and where Spark keeps rows of it: it finds them by their plans.
     */
    public Dataset quicker(Dataset frame) {
        LogicalPlan plan = frame.logicalPlan();
        Conditions changes = new Conditions();
        LogicalPlan made = readsFiles(plan) ? (LogicalPlan) plan.transformUpWithSubqueries(changes) : plan;
        if (changes.times == 0) {
            return frame;
        }
        made.setAnalyzed();
        SparkSession session = frame.sparkSession();
        boolean keepsNone = session.sharedState().cacheManager().isEmpty();
        return keepsNone || keptParts(session, made) > keptParts(session, plan) ? Dataset.ofRows(session, made) : frame;
    }

    /** Returns whether a plan reads files and rows of its own alone: a search is handed to other sources. */
    private static boolean readsFiles(LogicalPlan plan) {
        Seq leaves = plan.collectLeaves();
        for (int at = 0; at < leaves.length(); at++) {
            Object leaf = leaves.apply(at);
            boolean isFiles = leaf instanceof LogicalRelation
                    && ((LogicalRelation) leaf).relation() instanceof HadoopFsRelation;
            if (!isFiles && !(leaf instanceof LocalRelation) && !(leaf instanceof OneRowRelation)
                    && !(leaf instanceof Range) && !(leaf instanceof CTERelationRef)) {
                return false;
            }
        }
        Seq subqueries = plan.subqueriesAll();
        for (int at = 0; at < subqueries.length(); at++) {
            if (!readsFiles((LogicalPlan) subqueries.apply(at))) {
                return false;
            }
        }
        return true;
    }

    /** Returns how many parts of a plan are kept now; a frame looks for them once, and not before it is read. */
    private static int keptParts(SparkSession session, LogicalPlan plan) {
        Seq leaves = Dataset.ofRows(session, plan).queryExecution().withCachedData().collectLeaves();
        int found = 0;
        for (int at = 0; at < leaves.length(); at++) {
            found += leaves.apply(at) instanceof InMemoryRelation ? 1 : 0;
        }
        return found;
    }
}

/** Filters and joins, each with quicker conditions. */
final class Conditions extends AbstractPartialFunction {
    int times = 0;

    public boolean isDefinedAt(Object plan) {
        return plan instanceof Filter || plan instanceof Join;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
        if (!isDefinedAt(plan)) {
            return otherwise.apply(plan);
        }
        Quickening changes = new Quickening();
        changes.addSearches(((LogicalPlan) plan).expressions());
        Object made = ((LogicalPlan) plan).transformExpressionsUp(changes);
        times += changes.times;
        return made;
    }
}

/** A LIKE of a column that has to contain several texts, behind the search for each. */
final class Quickening extends AbstractPartialFunction {
    int times = 0;
    private final List known = new ArrayList();

    /** Remembers the searches that a condition has already: a view's was made quicker with the view. */
    void addSearches(Seq expressions) {
        for (int at = 0; at < expressions.length(); at++) {
            Expression one = (Expression) expressions.apply(at);
            if (one instanceof Contains) {
                known.add(one);
            }
            addSearches(one.children());
        }
    }

    public boolean isDefinedAt(Object expression) {
        return expression instanceof Like && !known.containsAll(searches((Like) expression));
    }

    public Object applyOrElse(Object expression, Function1 otherwise) {
        if (!isDefinedAt(expression)) {
            return otherwise.apply(expression);
        }
        times++;
        Like like = (Like) expression;
        List searches = searches(like);
        Expression made = (Expression) searches.get(0);
        for (int at = 1; at < searches.size(); at++) {
            made = new And(made, (Expression) searches.get(at));
        }
        return new And(made, like);
    }

    private static List searches(Like like) {
        List texts = texts(like);
        List found = new ArrayList();
        for (int at = 0; texts.size() > 1 && at < texts.size(); at++) {
            found.add(new Contains(like.left(), Literal.create(texts.get(at), DataTypes.StringType)));
        }
        return found;
    }

    /**
     * Returns the texts between wildcards; none of a pattern with escapes, of which some are faults, of
     * another collation, whose texts no bytes of UTF-8 are, or of which Spark makes no regular expression.
     */
    private static List texts(Like like) {
        List found = new ArrayList();
        boolean isPlain = like.left() instanceof Attribute && like.left().dataType().equals(DataTypes.StringType)
                && like.right() instanceof Literal && like.right().dataType().equals(DataTypes.StringType);
        Object value = isPlain ? ((Literal) like.right()).value() : null;
        String pattern = value == null ? "" : value.toString();
        if (pattern.indexOf(like.escapeChar()) >= 0 || pattern.indexOf('\ufffd') >= 0
                || !UTF8String.fromString(pattern).toString().equals(pattern) || pattern.matches("[^_%]+%[^_%]+")) {
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
