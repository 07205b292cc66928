package io.verbena.tpcds;

import static org.assertj.core.api.Assertions.assertThat;

import io.verbena.tpcds.RowMatcher.Unmatched;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RowMatcherTest {
    private final RowMatcher matcher = new RowMatcher(List.of("string", "double"));

    @ParameterizedTest
    @CsvSource({
        "1.0,               1.0000000001,  true",
        "1.0,               1.00000001,    false",
        "1.0E300,           1.0000000001E300, true",
        "0.0,               -0.0,          true",
        "0.0,               1.0E-300,      false",
        "NaN,               NaN,           true",
        "NaN,               1.0,           false",
        "Infinity,          Infinity,      true",
        "Infinity,          -Infinity,     false",
        "Infinity,          1.0E308,       false"
    })
    void shouldAllowTheToleranceForDoubles(String left, String right, boolean same) {
        assertThat(matcher.same(List.of("a", left), List.of("a", right))).isEqualTo(same);
    }

    @ParameterizedTest
    @CsvSource({
        "string, a, b",
        "decimal(38,10), 1.0000000000, 1.0000000001",
        "bigint, 9007199254740993, 9007199254740992"
    })
    void shouldAllowNoToleranceForOtherTypes(String type, String left, String right) {
        RowMatcher exact = new RowMatcher(List.of(type));

        assertThat(exact.same(List.of(left), List.of(right))).isFalse();
        assertThat(exact.same(List.of(left), List.of(left))).isTrue();
    }

    @Test
    void shouldTellNullFromEveryValue() {
        assertThat(matcher.same(Arrays.asList(null, null), Arrays.asList(null, null)))
                .isTrue();
        assertThat(matcher.same(Arrays.asList(null, "1.0"), Arrays.asList("", "1.0")))
                .isFalse();
        assertThat(matcher.same(Arrays.asList("a", null), Arrays.asList("a", "0.0")))
                .isFalse();
        assertThat(matcher.same(Arrays.asList("a", "NaN"), Arrays.asList("a", null)))
                .isFalse();
    }

    @Test
    void shouldCountDuplicates() {
        List<String> a = List.of("a", "1.0");
        List<String> b = List.of("b", "1.0");

        Unmatched unmatched = matcher.unmatched(List.of(a, a, b), List.of(b, b, a));

        assertThat(unmatched.onlyLeft()).containsExactly(a);
        assertThat(unmatched.onlyRight()).containsExactly(b);
    }

    @Test
    void shouldPairRowsInAnyOrderWithinTheTolerance() {
        Unmatched unmatched = matcher.unmatched(
                List.of(List.of("a", "1.0"), List.of("a", "2.0"), Arrays.asList("a", null)),
                List.of(Arrays.asList("a", null), List.of("a", "2.0000000001"), List.of("a", "1.0000000001")));

        assertThat(unmatched.isEmpty()).isTrue();
    }

    @Test
    void shouldNotPairANullDoubleWithAnEmptyCell() {
        Unmatched unmatched = matcher.unmatched(List.of(Arrays.asList("a", null)), List.of(List.of("a", "1.0")));

        assertThat(unmatched.onlyLeft()).hasSize(1);
        assertThat(unmatched.onlyRight()).hasSize(1);
    }

    @Test
    void shouldSeeAChangedOrder() {
        List<List<String>> rows = List.of(List.of("a", "1.0"), List.of("b", "1.0"));

        assertThat(matcher.sameSequence(rows, rows)).isTrue();
        assertThat(matcher.sameSequence(rows, List.of(rows.get(1), rows.get(0))))
                .isFalse();
        assertThat(matcher.sameSequence(rows, rows.subList(0, 1))).isFalse();
    }
}
