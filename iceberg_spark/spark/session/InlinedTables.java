package iceberg_spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;

import scala.Function1;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Puts common table expressions that are named once in the place of their name.
 *
 * Spark's optimizer does so too, but looks for what it has cached before.
 */
public class InlinedTables {
    /** Returns an analysed plan whose tables of some names, parted by spaces, are in their places. */
    public LogicalPlan inlined(LogicalPlan plan, String names) {
        if (!(plan instanceof WithCTE)) {
            return plan;
        }
        Map tables = new HashMap();
        List others = new ArrayList();
        Seq given = ((WithCTE) plan).cteDefs();
        for (int at = 0; at < given.length(); at++) {
            CTERelationDef table = (CTERelationDef) given.apply(at);
            boolean isOurs = table.child() instanceof SubqueryAlias
                    && (" " + names + " ").contains(" " + ((SubqueryAlias) table.child()).alias() + " ");
            if (isOurs) {
                tables.put(Long.valueOf(table.id()), table.child());
            } else {
                others.add(table);
            }
        }
        Inlining inlining = new Inlining(tables);
        LogicalPlan body = (LogicalPlan) ((WithCTE) plan).plan().transformUpWithSubqueries(inlining);
        List left = new ArrayList();
        for (int at = 0; at < others.size(); at++) {
            left.add(((LogicalPlan) others.get(at)).transformUpWithSubqueries(inlining));
        }
        if (inlining.isOdd || inlining.times != tables.size()) {
            return plan;
        }
        LogicalPlan made = left.isEmpty() ? body : new WithCTE(body, CollectionConverters.asScala(left).toSeq());
        made.setAnalyzed();
        return made;
    }
}

/** Tables by the numbers of their definitions, in place of what refers to them. */
final class Inlining extends AbstractPartialFunction {
    private final Map tables;
    int times = 0;
    boolean isOdd = false;

    Inlining(Map tables) {
        this.tables = tables;
    }

    public boolean isDefinedAt(Object plan) {
        return plan instanceof CTERelationRef && tables.containsKey(Long.valueOf(((CTERelationRef) plan).cteId()));
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
        if (!isDefinedAt(plan)) {
            return otherwise.apply(plan);
        }
        CTERelationRef named = (CTERelationRef) plan;
        LogicalPlan table = (LogicalPlan) tables.get(Long.valueOf(named.cteId()));
        times++;
        isOdd |= !ids(named).equals(ids(table));
        return table;
    }

    private static List ids(LogicalPlan plan) {
        List found = new ArrayList();
        for (int at = 0; at < plan.output().length(); at++) {
            found.add(Long.valueOf(((Attribute) plan.output().apply(at)).exprId().id()));
        }
        return found;
    }
}
