package iceberg_spark;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The leaves of a plan: which are relations of files with a mark, and others in their place. */
public class PlanLeaves {
    /** Returns the leaves of a plan, and after them those of its subqueries. */
    public List leaves(LogicalPlan plan) {
        List found = new ArrayList();
        addLeaves(plan, found);
        Seq subqueries = plan.subqueriesAll();
        for (int at = 0; at < subqueries.length(); at++) {
            addLeaves((LogicalPlan) subqueries.apply(at), found);
        }
        return found;
    }

    private static void addLeaves(LogicalPlan plan, List found) {
        Seq leaves = plan.collectLeaves();
        for (int at = 0; at < leaves.length(); at++) {
            found.add(leaves.apply(at));
        }
    }

    /** Returns a line for each of these leaves: the option that marks it, or nothing. */
    public String marks(LogicalPlan plan, String option) {
        StringBuilder said = new StringBuilder();
        List leaves = leaves(plan);
        for (int at = 0; at < leaves.size(); at++) {
            HadoopFsRelation files = files(leaves.get(at));
            Option mark = files == null ? Option.empty() : files.options().get(option);
            said.append(mark.isDefined() ? mark.get() : "").append('\n');
        }
        return said.toString();
    }

    /**
     * Returns a plan with other files below some of its relations; attributes stay as they are.
     *
     * @param places the numbers of leaves, as above
     * @param others for each a plan that is a relation of the same columns
     */
    public LogicalPlan replaced(LogicalPlan plan, List places, List others) {
        List leaves = leaves(plan);
        Map found = new HashMap();
        for (int at = 0; at < places.size(); at++) {
            LogicalRelation old = (LogicalRelation) leaves.get(((Integer) places.get(at)).intValue());
            found.put(old, moved(old, files(others.get(at))));
        }
        for (int at = 0; at < leaves.size(); at++) {
            if (!places.contains(Integer.valueOf(at))) {
                found.remove(leaves.get(at)); // an equal one, of which nothing is known, would go with it
            }
        }
        // A map of Scala's is a partial function too: what it has is replaced, all else stays.
        LogicalPlan made = (LogicalPlan) plan.transformDownWithSubqueries(CollectionConverters.asScala(found));
        made.setAnalyzed();
        return made;
    }

    private static HadoopFsRelation files(Object leaf) {
        boolean isFiles = leaf instanceof LogicalRelation && ((LogicalRelation) leaf).relation() instanceof HadoopFsRelation;
        return isFiles ? (HadoopFsRelation) ((LogicalRelation) leaf).relation() : null;
    }

    private static LogicalRelation moved(LogicalRelation old, HadoopFsRelation other) {
        HadoopFsRelation files = (HadoopFsRelation) old.relation();
        Object[] parts = new Object[old.productArity()];
        for (int at = 1; at < parts.length; at++) {
            parts[at] = old.productElement(at);
        }
        parts[0] = new HadoopFsRelation(
                other.location(), files.partitionSchema(), files.dataSchema(), files.bucketSpec(), files.fileFormat(),
                files.options(), files.sparkSession());
        return (LogicalRelation) old.makeCopy(parts);
    }
}
