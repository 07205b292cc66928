package io.verbena.bench.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Locale;
import org.junit.jupiter.api.Test;

class ResultTest {
    private static final String JSON =
            "{\"metric\":\"readVsPerftest\",\"bytes\":65536,\"ratio\":0.9812,\"min\":0.8000,\"max\":1.1000}";

    @Test
    void shouldBeOneJsonObjectInEveryLocale() {
        Locale before = Locale.getDefault();
        try {
            Locale.setDefault(Locale.GERMANY);
            assertThat(new Result("readVsPerftest", 65536, new Spread(0.98123, 0.8, 1.1)).json())
                    .isEqualTo(JSON);
        } finally {
            Locale.setDefault(before);
        }
    }

    @Test
    void shouldReadWhatItWrote() {
        assertThat(Result.parse(JSON).json()).isEqualTo(JSON);
    }

    @Test
    void shouldRefuseOtherLines() {
        assertThatThrownBy(() -> Result.parse("WARNING: something"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("WARNING: something");
    }
}
