package io.verbena.it.process;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;

/** The jar of a user's application: one class with its lambdas, nothing else. */
public final class AppJar {
    private AppJar() {}

    /** Writes the jar; the class must not use another one of the tests. */
    public static Path write(Path target, Class<?> application) throws IOException {
        String name = application.getName().replace('.', '/') + ".class";
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(target));
                InputStream in = application.getClassLoader().getResourceAsStream(name)) {
            out.putNextEntry(new JarEntry(name));
            in.transferTo(out);
            out.closeEntry();
        }
        return target;
    }
}
