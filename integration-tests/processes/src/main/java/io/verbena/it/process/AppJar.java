package io.verbena.it.process;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;

/** The jar of a user's application: its classes with their lambdas, nothing else. */
public final class AppJar {
    private AppJar() {}

    /** Writes the jar; the classes must not use others of the tests. */
    public static Path write(Path target, Class<?>... classes) throws IOException {
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(target))) {
            for (Class<?> each : classes) {
                String name = each.getName().replace('.', '/') + ".class";
                try (InputStream in = each.getClassLoader().getResourceAsStream(name)) {
                    out.putNextEntry(new JarEntry(name));
                    in.transferTo(out);
                    out.closeEntry();
                }
            }
        }
        return target;
    }
}
