package io.verbena.suites;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class TableTest {
    @Test
    void shouldReadRowsWithoutComments() {
        assertThat(Table.parse("t", "# a\tb\n1\t2\n\n3\tx y\n", 2))
                .containsExactly(List.of("1", "2"), List.of("3", "x y"));
    }

    @Test
    void shouldNameTheLineThatIsNotARow() {
        assertThatThrownBy(() -> Table.parse("t.tsv", "1\t2\n3\t\n", 2))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("file=t.tsv, line=2");
        assertThatThrownBy(() -> Table.parse("t.tsv", "1 2\n", 2)).hasMessageContaining("columns=1, expectedColumns=2");
    }
}
