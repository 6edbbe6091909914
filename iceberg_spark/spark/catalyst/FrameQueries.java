package iceberg_spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.CompoundBody;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias$;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

import scala.Function1;
import scala.Option;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** Queries whose tables are frames, and unions of frames: each one plan that is analysed once. */
public class FrameQueries {
    /** Returns a frame of exactly a type, given as JSON, with the rows of a frame. */
    public Dataset union(SparkSession session, String kind, Dataset only) {
        return union(session, kind, Collections.singletonList(only));
    }

    /** Returns a frame of exactly a type, given as JSON, with the rows of some frames. */
    public Dataset union(SparkSession session, String kind, List frames) {
        return Dataset.ofRows(session, union(kind, frames.size(), frames.iterator()));
    }

    /**
     * Returns the frame of a query in whose text names mean frames; null for a script.
     *
     * A frame stands in the place of its name, and not among common table expressions: the optimizer
     * looks for what it has cached before it puts these in their places.
     *
     * @param named a line for each name: the name, and where it is a union how many frames that has and
     *     its type
     * @param frames those of all names
     */
    public Dataset query(SparkSession session, String text, String named, List frames) throws Exception {
        Option before = SparkSession.getActiveSession();
        SparkSession.setActiveSession(session); // Spark's parser reads the active one's settings
        try {
            LogicalPlan parsed = session.sessionState().sqlParser().parsePlan(text);
            return parsed instanceof CompoundBody ? null : Dataset.ofRows(session, placed(parsed, named.split("\n"), frames.iterator()));
        } finally {
            if (before.isDefined()) {
                SparkSession.setActiveSession((SparkSession) before.get());
            } else {
                SparkSession.clearActiveSession();
            }
        }
    }

    private static LogicalPlan placed(LogicalPlan parsed, String[] lines, Iterator frames) {
        Map tables = new HashMap();
        List named = new ArrayList();
        for (int at = 0; at < lines.length; at++) {
            String[] said = lines[at].split(" ", 3);
            LogicalPlan plan = said.length == 1
                    ? ((Dataset) frames.next()).logicalPlan()
                    : union(said[2], Integer.parseInt(said[1]), frames);
            LogicalPlan table = SubqueryAlias$.MODULE$.apply(said[0], plan);
            tables.put(said[0], table);
            named.add(new Tuple3(said[0], table, Option.empty()));
        }
        Placing placing = new Placing(tables);
        LogicalPlan placed = (LogicalPlan) parsed.transformUpWithSubqueries(placing);
        // A name may stand where only Spark finds it.
        boolean isWhole = placing.names.size() == lines.length;
        return isWhole ? placed : new UnresolvedWith(parsed, CollectionConverters.asScala(named).toSeq(), false);
    }

    private static LogicalPlan union(String kind, int count, Iterator frames) {
        // The first member gives a union its session's columns and their metadata; it has no rows.
        LogicalPlan made = LocalRelation$.MODULE$.apply((StructType) DataType.fromJson(kind));
        for (int at = 0; at < count; at++) {
            List both = new ArrayList();
            both.add(made);
            both.add(((Dataset) frames.next()).logicalPlan());
            made = new Union(CollectionConverters.asScala(both).toSeq(), false, false);
        }
        if (made.resolved()) { // else types are to be widened: there is nothing else to analyse
            made.setAnalyzed();
        }
        return made;
    }
}

/** Tables in place of the names that a parsed query has for them, in its common table expressions too. */
final class Placing extends AbstractPartialFunction {
    private final Map tables;
    final Set names = new HashSet();

    Placing(Map tables) {
        this.tables = tables;
    }

    public boolean isDefinedAt(Object plan) {
        return plan instanceof UnresolvedWith || table(plan) != null;
    }

    public Object applyOrElse(Object plan, Function1 otherwise) {
        Object table = table(plan);
        if (table != null) {
            names.add(((UnresolvedRelation) plan).multipartIdentifier().head());
            return table;
        }
        return plan instanceof UnresolvedWith ? placed((UnresolvedWith) plan) : otherwise.apply(plan);
    }

    private Object table(Object plan) {
        Seq name = plan instanceof UnresolvedRelation ? ((UnresolvedRelation) plan).multipartIdentifier() : null;
        return name == null || name.length() != 1 ? null : tables.get(name.head());
    }

    private LogicalPlan placed(UnresolvedWith plan) {
        List made = new ArrayList();
        for (int at = 0; at < plan.cteRelations().length(); at++) {
            Tuple3 one = (Tuple3) plan.cteRelations().apply(at);
            made.add(new Tuple3(one._1(), ((LogicalPlan) one._2()).transformUpWithSubqueries(this), one._3()));
        }
        return plan.copy(plan.child(), CollectionConverters.asScala(made).toSeq(), plan.allowRecursion());
    }
}
