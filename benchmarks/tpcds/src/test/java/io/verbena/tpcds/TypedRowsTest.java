package io.verbena.tpcds;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TypedRowsTest {
    @TempDir
    private Path dir;

    @Test
    void shouldReadBackWhatWasWritten() throws IOException {
        TypedRows rows = new TypedRows(
                List.of("string", "int"),
                List.of(
                        Arrays.asList(null, "1"),
                        Arrays.asList("\\N", null),
                        Arrays.asList("", ""),
                        Arrays.asList("tab\tline\nreturn\r back\\slash \\t", "2"),
                        Arrays.asList("Zürich €", "-3")));
        Path file = dir.resolve("rows.tsv");

        rows.write(file);

        assertThat(TypedRows.read(file)).isEqualTo(rows);
    }

    @Test
    void shouldReadBackAResultWithoutRows() throws IOException {
        TypedRows rows = new TypedRows(List.of("int"), List.of());
        Path file = dir.resolve("rows.tsv");

        rows.write(file);

        assertThat(TypedRows.read(file)).isEqualTo(rows);
    }

    @Test
    void shouldKeepScaleOfDecimalsAndAllDigitsOfDoubles() {
        StructType schema = StructType.fromDDL("d decimal(38,10), x double, t date, n string");
        Row row = RowFactory.create(new BigDecimal("0E-10"), 0.1 + 0.2, java.sql.Date.valueOf("2001-02-28"), null);

        TypedRows rows = TypedRows.of(schema, List.of(row));

        assertThat(rows.types()).containsExactly("decimal(38,10)", "double", "date", "string");
        assertThat(rows.rows())
                .containsExactly(Arrays.asList("0.0000000000", "0.30000000000000004", "2001-02-28", null));
    }
}
