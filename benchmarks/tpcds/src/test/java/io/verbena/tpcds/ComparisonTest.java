package io.verbena.tpcds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.verbena.tpcds.Comparison.FullRun;
import io.verbena.tpcds.Comparison.Outcome;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Rows are "name key" with ORDER BY key; a full result repeats the key as its last column. */
class ComparisonTest {
    private static final FullRun NOT_NEEDED = () -> {
        throw new AssertionError("no full result needed");
    };

    @Test
    void shouldBeEqualWithoutAskingForMoreWhenRowsAreTheSame() throws IOException {
        TypedRows rows = rows("a 1", "b 2");

        assertThat(Comparison.compare(rows, rows("a 1", "b 2"), NOT_NEEDED, NOT_NEEDED)
                        .verdict())
                .isEqualTo(Verdict.EQUAL);
    }

    @Test
    void shouldAcceptTiesInAnotherOrder() throws IOException {
        FullRun full = full(10, "a 1", "b 1", "c 2");

        Outcome outcome = Comparison.compare(rows("a 1", "b 1", "c 2"), rows("b 1", "a 1", "c 2"), full, full);

        assertThat(outcome.verdict()).isEqualTo(Verdict.EQUAL_WITH_TIES);
    }

    @Test
    void shouldAcceptAnyRowsOfATieThatTheLimitCuts() throws IOException {
        FullRun full = full(2, "a 1", "b 2", "c 2", "d 3");

        Outcome outcome = Comparison.compare(rows("a 1", "b 2"), rows("a 1", "c 2"), full, full);

        assertThat(outcome.verdict()).isEqualTo(Verdict.EQUAL_WITH_TIES);
    }

    @Test
    void shouldAcceptAnyOrderWithoutOrderBy() throws IOException {
        FullRun sort = () -> new TieRules(rows("a 1", "b 2"), 0, OptionalLong.empty());
        FullRun ours = () -> new TieRules(rows("b 2", "a 1"), 0, OptionalLong.empty());

        Outcome outcome = Comparison.compare(rows("a 1", "b 2"), rows("b 2", "a 1"), sort, ours);

        assertThat(outcome.verdict()).isEqualTo(Verdict.EQUAL_WITH_TIES);
    }

    @Test
    void shouldRejectRowsFromBeyondTheTie() throws IOException {
        FullRun full = full(2, "a 1", "b 2", "c 3");

        Outcome outcome = Comparison.compare(rows("a 1", "b 2"), rows("a 1", "c 3"), full, full);

        assertThat(outcome.verdict()).isEqualTo(Verdict.DIFFERENT);
        assertThat(outcome.details())
                .singleElement()
                .asString()
                .contains("ours returned no valid answer")
                .contains("c\t3");
    }

    @Test
    void shouldRejectAnOrderThatIsNotATie() throws IOException {
        FullRun full = full(10, "a 1", "b 2");

        Outcome outcome = Comparison.compare(rows("a 1", "b 2"), rows("b 2", "a 1"), full, full);

        assertThat(outcome.verdict()).isEqualTo(Verdict.DIFFERENT);
    }

    @Test
    void shouldRejectADuplicateInPlaceOfATiedRow() throws IOException {
        FullRun full = full(10, "a 1", "b 1");

        Outcome outcome = Comparison.compare(rows("a 1", "b 1"), rows("a 1", "a 1"), full, full);

        assertThat(outcome.verdict()).isEqualTo(Verdict.DIFFERENT);
    }

    @Test
    void shouldRejectMissingRows() throws IOException {
        FullRun full = full(10, "a 1", "b 1");

        Outcome outcome = Comparison.compare(rows("a 1", "b 1"), rows("a 1"), full, full);

        assertThat(outcome.verdict()).isEqualTo(Verdict.DIFFERENT);
        assertThat(outcome.details()).singleElement().asString().contains("returned rows=1, expected=2");
    }

    @Test
    void shouldShowRowsInWhichFullResultsDiffer() throws IOException {
        Outcome outcome = Comparison.compare(
                rows("a 1", "b 2"), rows("a 1", "c 2"), full(2, "a 1", "b 2"), full(2, "a 1", "c 2"));

        assertThat(outcome.verdict()).isEqualTo(Verdict.DIFFERENT);
        assertThat(outcome.details()).contains("only sort: b\t2\t2", "only ours: c\t2\t2");
    }

    @Test
    void shouldRejectOtherColumnTypesEvenWhenTheTextIsTheSame() throws IOException {
        TypedRows other = new TypedRows(List.of("string", "bigint"), List.of(List.of("a", "1")));

        Outcome outcome = Comparison.compare(rows("a 1"), other, NOT_NEEDED, NOT_NEEDED);

        assertThat(outcome.verdict()).isEqualTo(Verdict.DIFFERENT);
        assertThat(outcome.details()).singleElement().asString().contains("bigint");
    }

    @Test
    void shouldNotPassSilentlyWhenTheFullResultFails() {
        FullRun failing = () -> {
            throw new IOException("executor lost");
        };

        assertThatThrownBy(() -> Comparison.compare(rows("a 1"), rows("b 1"), failing, failing))
                .isInstanceOf(IOException.class)
                .hasMessage("executor lost");
    }

    private static TypedRows rows(String... rows) {
        return new TypedRows(
                List.of("string", "int"),
                Arrays.stream(rows).map(row -> List.of(row.split(" "))).toList());
    }

    private static FullRun full(long limit, String... rows) {
        TypedRows full = new TypedRows(
                List.of("string", "int", "int"),
                Arrays.stream(rows)
                        .map(row -> row.split(" "))
                        .map(cells -> List.of(cells[0], cells[1], cells[1]))
                        .toList());
        return () -> new TieRules(full, 1, OptionalLong.of(limit));
    }
}
