package iceberg_spark;

import java.util.HashMap;
import java.util.Map;

import org.apache.spark.sql.catalyst.expressions.CommonExpressionId;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.Dataset;

import scala.Option;
import scala.Product;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Analysed plans that are the same, part by part and in the same order, but for the ids of their columns.
 *
 * What is known of the places of relations in one of them is true of the other. Spark compares plans by
 * others that it makes of them, in which conditions have an order of their own.
 */
public class SamePlans {
    /** Returns the analysed plan of a frame; null where Spark keeps rows of frames, of which plans say nothing. */
    public LogicalPlan comparable(Dataset frame) {
        boolean isKept = !frame.sparkSession().sharedState().cacheManager().isEmpty();
        return isKept ? null : frame.logicalPlan();
    }

    /** Returns whether two plans are the same. */
    public boolean same(LogicalPlan one, LogicalPlan other) {
        return new Comparison().same(one, other);
    }
}

/** Ids of one plan with those that stand for them in another, each for one. */
final class Comparison {
    private final Map ids = new HashMap();
    private final Map others = new HashMap();

    boolean same(Object one, Object other) {
        if (one instanceof Literal) { // 0.0 and -0.0 are equal to Java, and not the same text
            return one.equals(other) && one.toString().equals(other.toString());
        }
        if (one instanceof TreeNode) {
            return other instanceof TreeNode && one.getClass() == other.getClass() && sameNodes((TreeNode) one, (TreeNode) other);
        }
        if (one instanceof ExprId || one instanceof CommonExpressionId) {
            return other != null && one.getClass() == other.getClass() && sameIds(one, other);
        }
        if (one instanceof Seq) {
            return other instanceof Seq && sameParts(((Seq) one).iterator(), ((Seq) other).iterator());
        }
        if (one instanceof Option || one instanceof Product && one.getClass().getName().startsWith("scala.Tuple")) {
            return other != null && one.getClass() == other.getClass()
                    && sameParts(((Product) one).productIterator(), ((Product) other).productIterator());
        }
        return one == null ? other == null : one.equals(other);
    }

    private boolean sameNodes(TreeNode one, TreeNode other) {
        if (one instanceof View) { // what it is called, and when it was made, the optimizer forgets
            return same(((View) one).child(), ((View) other).child());
        }
        if (one instanceof CTERelationDef || one instanceof CTERelationRef) {
            return sameTables(one.productIterator(), other.productIterator());
        }
        // What a class of Scala's has in a second list of parameters, as ids, is no part of its product.
        return sameParts(one.productIterator(), other.productIterator())
                && sameParts(one.otherCopyArgs().iterator(), other.otherCopyArgs().iterator());
    }

    /** A common table expression is told by a number, which is another each time. */
    private boolean sameTables(Iterator one, Iterator other) {
        while (one.hasNext()) {
            Object own = one.next();
            Object others = other.next();
            if (own instanceof Long ? !sameIds("table " + own, "table " + others) : !same(own, others)) {
                return false;
            }
        }
        return true;
    }

    private boolean sameParts(Iterator one, Iterator other) {
        while (one.hasNext() && other.hasNext()) {
            if (!same(one.next(), other.next())) {
                return false;
            }
        }
        return !one.hasNext() && !other.hasNext();
    }

    private boolean sameIds(Object one, Object other) {
        if (!ids.containsKey(one) && !others.containsKey(other)) {
            ids.put(one, other);
            others.put(other, one);
        }
        return other.equals(ids.get(one)) && one.equals(others.get(other));
    }
}
