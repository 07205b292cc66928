package io.verbena.transport.mapped;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.verbena.memory.OffHeap;
import io.verbena.transport.EndpointDescriptor.SegmentEntry;
import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.StandardOpenOption;

/**
 * A neighbour's segment, mapped read-only on first use. The owner never truncates the file and the pages are reserved, so an
 * access cannot raise SIGBUS, even after the owner is gone.
 *
 * <p>Threads: any; mapping and unmapping are guarded by this. Whoever uses the mapping keeps it from being unmapped (see
 * {@link MappedMemory}).
 */
final class PeerSegment {
    private final SegmentEntry entry;

    @GuardedBy("this")
    private MappedByteBuffer mapping;

    PeerSegment(SegmentEntry entry) {
        this.entry = entry;
    }

    SegmentEntry entry() {
        return entry;
    }

    /**
     * Returns the mapping, with its page tables filled.
     *
     * @throws IOException if the file is not there any more, is another one, or is shorter than announced
     */
    synchronized MappedByteBuffer mapping() throws IOException {
        if (mapping == null) {
            LeaseFile.verify(entry.file());
            try (FileChannel channel =
                    FileChannel.open(entry.file().path(), StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
                mapping = channel.map(FileChannel.MapMode.READ_ONLY, 0, entry.length());
            }
            mapping.load();
        }
        return mapping;
    }

    synchronized void unmap() {
        if (mapping != null) {
            OffHeap.unmap(mapping);
            mapping = null;
        }
    }
}
