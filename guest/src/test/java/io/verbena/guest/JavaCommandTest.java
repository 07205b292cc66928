package io.verbena.guest;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class JavaCommandTest {
    @Test
    void shouldSurviveTheShell() throws Exception {
        String word = "it's \"$HOME\" `x` \\ *\nnext";
        assertThat(HostCommand.run(
                        Path.of("/"), Duration.ofSeconds(20), "sh", "-c", "printf %s " + JavaCommand.quoted(word)))
                .isEqualTo(word);
    }

    @Test
    void shouldRunAMainClassWithThisClassPath() throws Exception {
        String script =
                new JavaCommand(List.of("-Dgreeting=hello world"), Greeting.class.getName(), List.of("a b")).script();
        assertThat(HostCommand.run(Path.of("/"), Duration.ofSeconds(60), "sh", "-c", script))
                .isEqualTo("hello world, a b in " + System.getProperty("user.dir") + "\n");
    }

    /** What the script starts. */
    static final class Greeting {
        private Greeting() {}

        public static void main(String[] arguments) {
            System.out.println(
                    System.getProperty("greeting") + ", " + arguments[0] + " in " + System.getProperty("user.dir"));
        }
    }
}
