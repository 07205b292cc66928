package io.verbena.shuffle.writer;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Run images of one map task that found no room in memory, until the task ends. Slices are encoded as in memory, so with
 * encryption switched on nothing is here in clear.
 *
 * <p>Threads: confined to the task. {@link #close} deletes the file; Spark removes the folder of an executor that dies.
 */
final class SpillFile implements Closeable {
    private final File file;
    private final FileChannel channel;
    private final List<Long> lengths = new ArrayList<>();
    private long size;

    SpillFile(File file) throws IOException {
        this.file = file;
        this.channel = FileChannel.open(
                file.toPath(), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    void append(ByteBuffer image) throws IOException {
        long length = image.remaining();
        while (image.hasRemaining()) {
            channel.write(image);
        }
        lengths.add(length);
        size += length;
    }

    long size() {
        return size;
    }

    /** Maps the images for reading; they are valid until the garbage collector finds them unused, also after {@link #close}. */
    List<ByteBuffer> map() throws IOException {
        List<ByteBuffer> images = new ArrayList<>(lengths.size());
        long offset = 0;
        for (long length : lengths) {
            images.add(channel.map(FileChannel.MapMode.READ_ONLY, offset, length));
            offset += length;
        }
        return images;
    }

    @Override
    public void close() throws IOException {
        channel.close();
        Files.deleteIfExists(file.toPath());
    }
}
