package io.verbena.guest;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A JVM inside the guest, with this JVM's class path and, unless told otherwise, its working directory.
 *
 * @param jvmOptions for instance {@code -Xmx512m}
 * @param main the main class
 * @param arguments of the main class
 */
public record JavaCommand(List<String> jvmOptions, String main, List<String> arguments) {
    /**
     * What suits an emulated processor, for which new code is dear: the machine code of the JVM's compilers is translated once more.
     * Measured with JUnit's launcher: interpreted alone it starts in half the time, with these thresholds in three quarters.
     */
    public static final List<String> OPTIONS =
            List.of("-XX:TieredStopAtLevel=1", "-XX:CompileThresholdScaling=10", "-XX:+UseSerialGC");

    /** A crash leaves its report in the exchange. */
    private static final String ERROR_FILE = "-XX:ErrorFile=/exchange/hs_err_%p.log";

    /** Returns the script for {@link Guest#run}. */
    public String script() {
        List<String> words = new ArrayList<>();
        words.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        words.addAll(OPTIONS);
        words.add(ERROR_FILE);
        words.addAll(jvmOptions);
        words.add("-cp");
        words.add(System.getProperty("java.class.path"));
        words.add(main);
        words.addAll(arguments);
        return "cd " + quoted(System.getProperty("user.dir")) + "\nexec "
                + words.stream().map(JavaCommand::quoted).collect(Collectors.joining(" "));
    }

    /** Returns one word of a shell's command line. */
    static String quoted(String word) {
        return "'" + word.replace("'", "'\\''") + "'";
    }
}
