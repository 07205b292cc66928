package io.verbena.shuffle.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ConfigTableTest {
    /** {@code mvn test -pl shuffle-manager -am -Dtest=ConfigTableTest -Dsurefire.failIfNoSpecifiedTests=false -Dverbena.rewriteReadme=true}. */
    private static final boolean REWRITE = Boolean.getBoolean("verbena.rewriteReadme");

    /** Surefire sets basedir to the module's directory. */
    private static final Path README = Path.of(System.getProperty("basedir", ""))
            .resolve("../README.md")
            .toAbsolutePath()
            .normalize();

    @Test
    void shouldMatchReadme() throws IOException {
        if (REWRITE) {
            Files.writeString(README, ConfigTable.replaceIn(Files.readString(README)));
        }
        String readme = Files.readString(README);

        assertThat(readme)
                .as("configuration table in %s; rewrite it with -Dverbena.rewriteReadme=true", README)
                .isEqualTo(ConfigTable.replaceIn(readme));
    }

    @Test
    void shouldHaveOneRowWithDocAndVersionPerKey() {
        assertThat(ConfigTable.render().lines().skip(2)).hasSameSizeAs(RdmaConf.keys());
        assertThat(RdmaConf.keys()).allSatisfy(key -> {
            assertThat(key.doc()).as("doc of %s", key).isNotBlank().endsWith(".");
            assertThat(key.since()).as("first version of %s", key).matches("\\d+\\.\\d+\\.\\d+");
            assertThat(key.doc() + key.range()).as("cells of %s", key).doesNotContain("|", "\n");
        });
    }

    @Test
    void shouldReplaceOnlyWhatIsBetweenMarkers() {
        String document = "before\n" + ConfigTable.BEGIN + "\nstale\n" + ConfigTable.END + "\nafter\n";

        assertThat(ConfigTable.replaceIn(document))
                .isEqualTo(
                        "before\n" + ConfigTable.BEGIN + "\n" + ConfigTable.render() + ConfigTable.END + "\nafter\n");
    }

    @Test
    void shouldNameMissingMarkers() {
        assertThatThrownBy(() -> ConfigTable.replaceIn("no table here"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(ConfigTable.BEGIN)
                .hasMessageContaining(ConfigTable.END);
    }
}
