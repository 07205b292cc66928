package io.verbena.verbs;

import io.verbena.verbs.VerbsLibraryOptions.Source;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.DynamicTest;

/**
 * Opens the library for tests. Classes that call natives must be defined by its loader, where JUnit does not look: they are in the
 * package {@code inside}, and {@link #tests} runs each of their methods.
 */
final class TestLibrary {
    private static final String INSIDE = "io.verbena.verbs.inside.";
    /** Set where the product's libraries are to be taken from a folder rather than the class path. */
    private static final String NATIVES = System.getProperty("verbena.test.natives");

    private TestLibrary() {}

    static VerbsLibrary open() throws VerbsUnavailableException {
        VerbsLibraryOptions options = VerbsLibraryOptions.of(Source.BUNDLED).withPrefix(INSIDE);
        return VerbsLibrary.open(options, parent());
    }

    /** Returns the class path with the libraries of the sanitized build, where this run is for them. */
    static ClassLoader parent() {
        if (NATIVES == null) {
            return TestLibrary.class.getClassLoader();
        }
        Path folder = Path.of(NATIVES);
        return resources(name -> Files.exists(folder.resolve(name)) ? folder.resolve(name) : null);
    }

    /** Returns the class path with some resources replaced by files; null leaves a resource as it is. */
    static ClassLoader resources(Function<String, Path> replacement) {
        return new ClassLoader(TestLibrary.class.getClassLoader()) {
            @Override
            public InputStream getResourceAsStream(String name) {
                Path file = replacement.apply(name);
                try {
                    return file == null ? super.getResourceAsStream(name) : Files.newInputStream(file);
                } catch (IOException e) {
                    return null;
                }
            }
        };
    }

    /** Returns a test for each public method "should..." of a class inside; a new object for each, closed afterwards. */
    static List<DynamicTest> tests(VerbsLibrary library, String simpleName) throws ClassNotFoundException {
        Class<?> type = Class.forName(INSIDE + simpleName, true, library.classLoader());
        List<DynamicTest> tests = new ArrayList<>();
        for (Method method : type.getDeclaredMethods()) {
            if (Modifier.isPublic(method.getModifiers()) && method.getName().startsWith("should")) {
                tests.add(DynamicTest.dynamicTest(simpleName + "." + method.getName(), () -> run(library, method)));
            }
        }
        if (tests.isEmpty()) {
            throw new IllegalStateException("no tests in class=" + type.getName());
        }
        return tests;
    }

    private static void run(VerbsLibrary library, Method method) throws Throwable {
        try (AutoCloseable object = library.instantiate(
                AutoCloseable.class, method.getDeclaringClass().getName())) {
            method.invoke(object);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
