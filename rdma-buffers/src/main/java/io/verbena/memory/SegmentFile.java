package io.verbena.memory;

import java.nio.file.Path;

/**
 * The file behind a segment, as a process on the same host can find and verify it. Immutable.
 *
 * @param path where the file is, in the owner's view of the file system
 * @param device {@code st_dev}: with the inode it proves that a neighbour sees the same file under that path
 * @param inode {@code st_ino}
 */
public record SegmentFile(Path path, long device, long inode) {}
