package iceberg_spark;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/** Plans and expressions as JSON, for Python. */
public final class PlanJson {
    private PlanJson() {}

    /** Returns a plan, see `PlanTree`. */
    public static java.util.Map ofPlan(LogicalPlan plan) {
        return PlanTree.of(plan);
    }

    /** Returns whether the expressions of a node have the same values each time. */
    public static boolean isDeterministic(LogicalPlan node) {
        Seq expressions = node.expressions();
        for (int i = 0; i < expressions.length(); i++) {
            if (!((Expression) expressions.apply(i)).deterministic()) {
                return false;
            }
        }
        return true;
    }

    /** Returns an expression, see `ConditionJson`. */
    public static java.util.Map ofExpression(Expression expression) {
        return ConditionJson.of(expression);
    }
}

/**
 * A plan as JSON: what tells which columns of its leaves have to be equal.
 *
 * Each node has its class, its children, its size in bytes as Spark estimates it, and whether it is
 * deterministic. A join has its type and the columns that its condition compares by `=`; a projection and
 * an aggregate the columns that they pass on, by the ids above and below; an aggregate the columns that it
 * groups by; a leaf its columns.
 */
final class PlanTree {
    private PlanTree() {}

    static java.util.Map of(LogicalPlan plan) {
        java.util.Map node = new LinkedHashMap();
        node.put("kind", plan.getClass().getSimpleName());
        List children = new ArrayList();
        for (int i = 0; i < plan.children().length(); i++) {
            children.add(of((LogicalPlan) plan.children().apply(i)));
        }
        node.put("children", children);
        node.put("size", plan.stats().sizeInBytes().toString());
        node.put("deterministic", Boolean.valueOf(PlanJson.isDeterministic(plan)));
        if (plan instanceof Join) {
            Join join = (Join) plan;
            node.put("join_type", join.joinType().getClass().getSimpleName());
            List equalities = new ArrayList();
            if (join.condition().isDefined()) {
                addEqualities((Expression) join.condition().get(), equalities);
            }
            node.put("equalities", equalities);
        } else if (plan instanceof Project) {
            node.put("passed", passed(((Project) plan).projectList()));
        } else if (plan instanceof Aggregate) {
            node.put("passed", passed(((Aggregate) plan).aggregateExpressions()));
            List grouped = new ArrayList();
            for (int i = 0; i < ((Aggregate) plan).groupingExpressions().length(); i++) {
                addId(((Aggregate) plan).groupingExpressions().apply(i), grouped);
            }
            node.put("grouped", grouped);
        } else if (children.isEmpty()) {
            node.put("columns", columns(plan.output()));
        }
        return node;
    }

    private static void addEqualities(Expression condition, List equalities) {
        if (condition instanceof And) {
            addEqualities(((And) condition).left(), equalities);
            addEqualities(((And) condition).right(), equalities);
        } else if (condition instanceof EqualTo) {
            List ids = new ArrayList();
            addId(((EqualTo) condition).left(), ids);
            addId(((EqualTo) condition).right(), ids);
            if (ids.size() == 2) {
                equalities.add(ids);
            }
        }
    }

    private static List passed(Seq expressions) {
        List passed = new ArrayList();
        for (int i = 0; i < expressions.length(); i++) {
            Object expression = expressions.apply(i);
            List ids = new ArrayList();
            ids.add(Long.valueOf(((NamedExpression) expression).exprId().id()));
            addId(expression instanceof Alias ? ((Alias) expression).child() : expression, ids);
            if (ids.size() == 2) {
                passed.add(ids);
            }
        }
        return passed;
    }

    private static List columns(Seq output) {
        List columns = new ArrayList();
        for (int i = 0; i < output.length(); i++) {
            Attribute column = (Attribute) output.apply(i);
            java.util.Map json = new LinkedHashMap();
            json.put("id", Long.valueOf(column.exprId().id()));
            json.put("name", column.name());
            json.put("type", column.dataType().typeName());
            columns.add(json);
        }
        return columns;
    }

    private static void addId(Object expression, List ids) {
        if (expression instanceof AttributeReference) {
            ids.add(Long.valueOf(((AttributeReference) expression).exprId().id()));
        }
    }
}

/**
 * An expression as JSON: its class, its children, its type, and what else its class has.
 *
 * Values are as Spark keeps them: dates are days, timestamps are microseconds.
 */
final class ConditionJson {
    private ConditionJson() {}

    static java.util.Map of(Expression expression) {
        java.util.Map json = new LinkedHashMap();
        json.put("kind", expression.getClass().getSimpleName());
        List children = new ArrayList();
        for (int i = 0; i < expression.children().length(); i++) {
            children.add(of((Expression) expression.children().apply(i)));
        }
        json.put("children", children);
        if (expression.resolved()) {
            json.put("type", type(expression.dataType()));
        }
        if (expression instanceof Literal) {
            json.put("value", text(((Literal) expression).value()));
        } else if (expression instanceof AttributeReference) {
            json.put("name", ((AttributeReference) expression).name());
        } else if (expression instanceof GetStructField) {
            json.put("ordinal", Integer.valueOf(((GetStructField) expression).ordinal()));
        } else if (expression instanceof InSet) {
            List values = new ArrayList();
            for (Iterator each = ((InSet) expression).hset().iterator(); each.hasNext();) {
                values.add(text(each.next()));
            }
            json.put("values", values);
        }
        return json;
    }

    private static String type(DataType type) {
        return type instanceof StructType ? type.json() : type.typeName();
    }

    /** Returns null for NULL, and for a text that is not UTF-8. */
    private static String text(Object value) {
        if (value == null) {
            return null;
        }
        String text = value.toString();
        boolean isExact = !(value instanceof UTF8String) || UTF8String.fromString(text).equals(value);
        return isExact ? text : null;
    }
}
