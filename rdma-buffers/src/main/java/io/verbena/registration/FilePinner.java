package io.verbena.registration;

import io.verbena.memory.FileMapping;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Maps ranges of files and registers them, with the kind of mapping that the kernel pins: read-only, or where that is a bad address
 * (kernels before 6.2) one that could be written, though nothing writes. The first success settles which.
 *
 * <p>Threads: {@link #register} one at a time, as the {@link MrCache} calls it; {@link #giveBack} any.
 */
final class FilePinner {
    private static final Logger LOG = LoggerFactory.getLogger(FilePinner.class);

    private final FileRegistrar registrar;
    private boolean writable;
    private boolean settled;

    /** Neither kind can be pinned here. */
    private boolean hopeless;

    FilePinner(FileRegistrar registrar) {
        this.registrar = registrar;
    }

    /** A mapping and its region; given back together. */
    record Pinned(FileMapping mapping, MemoryRegion region) {}

    /**
     * Maps and registers a range.
     *
     * @throws RegistrationException if a device refuses; nothing is left mapped
     * @throws IOException if the file cannot be mapped
     */
    Pinned register(Path file, long offset, long length) throws IOException, RegistrationException {
        while (!hopeless) {
            FileMapping mapping = FileMapping.open(file, offset, length, writable);
            boolean registered = false;
            try {
                Pinned pinned = new Pinned(mapping, registrar.registerFile(mapping.segment()));
                registered = true;
                settled = true;
                return pinned;
            } catch (RegistrationException e) {
                if (settled || !e.isBadAddress()) {
                    throw e;
                }
                tryAnotherKind(e);
            } finally {
                if (!registered) {
                    mapping.close();
                }
            }
        }
        throw new RegistrationException("the kernel does not pin mapped files: file=" + file);
    }

    private void tryAnotherKind(RegistrationException refusal) {
        if (writable) {
            hopeless = true;
            LOG.warn("mapped files cannot be registered, they are read another way: {}", refusal.getMessage());
        } else {
            writable = true;
            LOG.info("mapped files are registered through writable mappings: {}", refusal.getMessage());
        }
    }

    /**
     * Deregisters in one call, then unmaps.
     *
     * @return false, logged, if a device keeps one: then all stay mapped
     */
    boolean giveBack(List<Pinned> all) {
        try {
            registrar.deregisterFiles(all.stream().map(Pinned::region).toList());
        } catch (IllegalStateException e) {
            LOG.error("mapped files stay registered until the process ends: ranges={}: {}", all.size(), e.getMessage());
            return false;
        }
        all.forEach(pinned -> pinned.mapping().close());
        return true;
    }
}
