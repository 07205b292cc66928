package io.verbena.tpcds;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.classic.SparkSession;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The query without its outermost LIMIT, still in its ORDER BY, with the values of the ORDER BY expressions appended as columns.
 * {@link TieRules} needs it to tell a tie from a wrong result.
 *
 * @param rows the rewritten query, not yet run
 * @param keyCount how many columns were appended; 0 when the query has no outermost ORDER BY
 * @param limit of the query as written
 */
record FullResult(Dataset<Row> rows, int keyCount, OptionalLong limit) {

    /** @throws IllegalStateException when the outermost LIMIT is not a number */
    static FullResult of(SparkSession session, String sql) {
        LogicalPlan analyzed = session.sql(sql).queryExecution().analyzed();
        Rewriter rewriter = new Rewriter();
        LogicalPlan rewritten = rewriter.rewrite(analyzed);
        Dataset<Row> rows = org.apache.spark.sql.classic.Dataset.ofRows(session, rewritten);
        return new FullResult(rows, rewriter.keyCount, rewriter.limit);
    }

    private static final class Rewriter {
        private int keyCount;
        private OptionalLong limit = OptionalLong.empty();

        LogicalPlan rewrite(LogicalPlan plan) {
            if (plan instanceof WithCTE with) {
                return with.copy(rewrite(with.plan()), with.cteDefs());
            }
            if (plan instanceof GlobalLimit global) {
                if (!(global.limitExpr() instanceof Literal literal)) {
                    throw new IllegalStateException("cannot remove a LIMIT that is not a number: limit="
                            + global.limitExpr().sql());
                }
                limit = OptionalLong.of(((Number) literal.value()).longValue());
                return rewrite(global.child());
            }
            if (plan instanceof LocalLimit local) {
                return rewrite(local.child());
            }
            if (plan instanceof Sort sort) {
                List<NamedExpression> output = new ArrayList<>(CollectionConverters.asJava(sort.output()));
                return withKeys(output, sort);
            }
            if (plan instanceof Project project && project.child() instanceof Sort sort) {
                return withKeys(new ArrayList<>(CollectionConverters.asJava(project.projectList())), sort);
            }
            return plan;
        }

        private LogicalPlan withKeys(List<NamedExpression> columns, Sort sort) {
            for (SortOrder order : CollectionConverters.asJava(sort.order())) {
                columns.add(alias(order.child(), "sort_key_" + keyCount));
                keyCount++;
            }
            Seq<NamedExpression> projected =
                    CollectionConverters.asScala(columns).toSeq();
            return new Project(projected, sort);
        }

        private static Alias alias(Expression expression, String name) {
            Seq<String> none = CollectionConverters.asScala(List.<String>of()).toSeq();
            return new Alias(expression, name, NamedExpression.newExprId(), none, Option.empty(), none);
        }
    }
}
