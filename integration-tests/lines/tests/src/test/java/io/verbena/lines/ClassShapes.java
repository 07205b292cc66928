package io.verbena.lines;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * Supertypes and members of the classes that a loader would find, read without loading them, and the look-ups of members that a JVM
 * makes when it links (sections 5.4.3.2 to 5.4.3.4 and 5.4.6 of its specification). Names are internal ones.
 */
final class ClassShapes {
    private final ClassLoader loader;
    private final Map<String, Optional<ClassNode>> known = new HashMap<>();

    ClassShapes(ClassLoader loader) {
        this.loader = loader;
    }

    /** A member and the class that declares it. */
    record Member(ClassNode owner, int access) {
        boolean is(int flag) {
            return (access & flag) != 0;
        }
    }

    /** Empty if there is no such class. */
    Optional<ClassNode> find(String name) {
        return known.computeIfAbsent(name, this::read);
    }

    private Optional<ClassNode> read(String name) {
        try (InputStream in = loader.getResourceAsStream(name + ".class")) {
            if (in == null) {
                return Optional.empty();
            }
            ClassNode shape = new ClassNode();
            new ClassReader(in).accept(shape, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG);
            return Optional.of(shape);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The class and its superclasses, as far as they are there. */
    Stream<ClassNode> lineage(ClassNode type) {
        return Stream.iterate(
                        Optional.of(type),
                        Optional::isPresent,
                        each -> Optional.ofNullable(each.get().superName).flatMap(this::find))
                .map(Optional::get);
    }

    /** All interfaces of the class and of its superclasses. */
    Set<ClassNode> interfaces(ClassNode type) {
        Set<ClassNode> all = new LinkedHashSet<>();
        Deque<String> names = new ArrayDeque<>();
        lineage(type).forEach(each -> names.addAll(each.interfaces));
        while (!names.isEmpty()) {
            find(names.pop()).filter(all::add).ifPresent(each -> names.addAll(each.interfaces));
        }
        return all;
    }

    /** Whether the first is the second or inherits from it. */
    boolean inherits(ClassNode type, ClassNode from) {
        return type == from || interfaces(type).contains(from) || lineage(type).anyMatch(each -> each == from);
    }

    Optional<Member> field(ClassNode type, String name, String descriptor) {
        return Stream.concat(Stream.of(type), Stream.concat(interfaces(type).stream(), lineage(type)))
                .flatMap(each -> declaredField(each, name, descriptor).stream())
                .findFirst();
    }

    private static Optional<Member> declaredField(ClassNode type, String name, String descriptor) {
        for (FieldNode field : type.fields) {
            if (field.name.equals(name) && field.desc.equals(descriptor)) {
                return Optional.of(new Member(type, field.access));
            }
        }
        return Optional.empty();
    }

    /** The method that a reference to it means. Constructors are not inherited. */
    Optional<Member> method(ClassNode type, String name, String descriptor) {
        if (name.equals("<init>")) {
            return declared(type, name, descriptor);
        }
        Optional<Member> inherited = lineage(type)
                .flatMap(each -> declared(each, name, descriptor).stream())
                .findFirst();
        return inherited.isPresent()
                ? inherited
                : ofInterfaces(type, name, descriptor)
                        .reduce((one, other) -> one.is(Opcodes.ACC_ABSTRACT) ? other : one);
    }

    /** The method that a call of an abstract one runs on objects of a class; empty if it would fail. */
    Optional<Member> implementation(ClassNode type, String name, String descriptor) {
        Optional<Member> inherited = lineage(type)
                .flatMap(each -> declared(each, name, descriptor).stream())
                .filter(member -> !member.is(Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE))
                .findFirst();
        if (inherited.isPresent()) {
            return inherited.filter(member -> !member.is(Opcodes.ACC_ABSTRACT));
        }
        List<Member> candidates = ofInterfaces(type, name, descriptor).toList();
        List<Member> defaults = candidates.stream()
                .filter(member -> candidates.stream()
                        .noneMatch(other -> other.owner() != member.owner() && inherits(other.owner(), member.owner())))
                .filter(member -> !member.is(Opcodes.ACC_ABSTRACT))
                .toList();
        return defaults.size() == 1 ? Optional.of(defaults.get(0)) : Optional.empty();
    }

    private Stream<Member> ofInterfaces(ClassNode type, String name, String descriptor) {
        return interfaces(type).stream()
                .flatMap(each -> declared(each, name, descriptor).stream())
                .filter(member -> !member.is(Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE));
    }

    private static Optional<Member> declared(ClassNode type, String name, String descriptor) {
        for (MethodNode method : type.methods) {
            if (method.name.equals(name) && (method.desc.equals(descriptor) || isSignaturePolymorphic(type, method))) {
                return Optional.of(new Member(type, method.access));
            }
        }
        return Optional.empty();
    }

    /** Methods of these two fit every descriptor. */
    private static boolean isSignaturePolymorphic(ClassNode type, MethodNode method) {
        return (type.name.equals("java/lang/invoke/MethodHandle") || type.name.equals("java/lang/invoke/VarHandle"))
                && (method.access & Opcodes.ACC_NATIVE) != 0
                && method.desc.startsWith("([Ljava/lang/Object;)");
    }
}
