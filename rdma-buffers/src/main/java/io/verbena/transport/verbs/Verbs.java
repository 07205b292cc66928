package io.verbena.transport.verbs;

import io.verbena.verbs.VerbsLibrary;
import io.verbena.verbs.VerbsLibraryOptions;
import io.verbena.verbs.VerbsLibraryOptions.Source;
import io.verbena.verbs.VerbsUnavailableException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens the RDMA devices of this host. Threads: any. */
public final class Verbs {
    private static final Logger LOG = LoggerFactory.getLogger(Verbs.class);
    /** Made by the kernel with the first device. */
    private static final Path DEVICES = Path.of("/dev/infiniband");

    private static final String ENGINE = "io.verbena.transport.verbs.engine.Engine";

    private Verbs() {}

    /**
     * Loads the native libraries and opens the devices.
     *
     * @throws VerbsUnavailableException with the reason in one sentence; nothing is left behind and another attempt may follow
     */
    public static VerbsDevices open(VerbsOptions options) throws VerbsUnavailableException {
        if (!Files.isDirectory(DEVICES)) {
            // The usual case, and not worth unpacking a library for.
            throw new VerbsUnavailableException("this host has no RDMA device: " + DEVICES
                    + " does not exist; if it has a card, load its driver, and in a container pass the directory in");
        }
        VerbsLibrary library =
                VerbsLibrary.open(VerbsLibraryOptions.of(options.systemLibrary() ? Source.SYSTEM : Source.BUNDLED)
                        .withDirectories(options.libraryDirectories()));
        LOG.info("verbs library is loaded: {}", library.description());
        try {
            return (VerbsDevices) library.classLoader()
                    .loadClass(ENGINE)
                    .getConstructor(VerbsOptions.class)
                    .newInstance(options);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof VerbsUnavailableException unavailable) {
                throw unavailable;
            }
            throw new VerbsUnavailableException("RDMA devices cannot be opened: " + e.getCause(), e.getCause());
        } catch (ReflectiveOperationException | LinkageError e) {
            throw new VerbsUnavailableException("the RDMA engine cannot be loaded: " + e, e);
        }
    }
}
