package io.verbena.verbs;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Which native library to open, and how. Immutable. */
public final class VerbsLibraryOptions {
    /** What DiSNI's natives come from. */
    public enum Source {
        /** The library in the jar; java.library.path if the jar has none for this architecture. */
        BUNDLED,
        /** The user's own libdisni on java.library.path. Ours for the calls that DiSNI lacks comes from the jar nevertheless. */
        SYSTEM
    }

    /** The names under which the dynamic linker finds rdma-core; part of its ABI. */
    private static final String IBVERBS = "libibverbs.so.1";

    private static final String RDMACM = "librdmacm.so.1";

    private final Source source;
    private final List<Path> directories;
    private final List<String> prefixes;
    private final String ibverbsFile;
    private final String rdmacmFile;

    private VerbsLibraryOptions(
            Source source, List<Path> directories, List<String> prefixes, String ibverbsFile, String rdmacmFile) {
        this.source = source;
        this.directories = List.copyOf(directories);
        this.prefixes = List.copyOf(prefixes);
        this.ibverbsFile = ibverbsFile;
        this.rdmacmFile = rdmacmFile;
    }

    /** Returns options that extract into java.io.tmpdir and find rdma-core by the dynamic linker's rules. */
    public static VerbsLibraryOptions of(Source source) {
        return new VerbsLibraryOptions(
                source, List.of(Path.of(System.getProperty("java.io.tmpdir"))), List.of(), IBVERBS, RDMACM);
    }

    /** Returns options with these directories to try after the others, for hosts where one is mounted noexec. */
    public VerbsLibraryOptions withDirectories(List<Path> more) {
        List<Path> all = new ArrayList<>(directories);
        all.addAll(more);
        return new VerbsLibraryOptions(source, all, prefixes, ibverbsFile, rdmacmFile);
    }

    /** Returns options with another prefix of class names that the library's loader defines itself. */
    public VerbsLibraryOptions withPrefix(String prefix) {
        List<String> all = new ArrayList<>(prefixes);
        all.add(prefix);
        return new VerbsLibraryOptions(source, directories, all, ibverbsFile, rdmacmFile);
    }

    VerbsLibraryOptions withOnlyDirectories(List<Path> only) {
        return new VerbsLibraryOptions(source, only, prefixes, ibverbsFile, rdmacmFile);
    }

    VerbsLibraryOptions withFiles(String ibverbs, String rdmacm) {
        return new VerbsLibraryOptions(source, directories, prefixes, ibverbs, rdmacm);
    }

    Source source() {
        return source;
    }

    List<Path> directories() {
        return directories;
    }

    List<String> prefixes() {
        return prefixes;
    }

    String ibverbsFile() {
        return ibverbsFile;
    }

    String rdmacmFile() {
        return rdmacmFile;
    }
}
