package io.verbena.lines;

import io.verbena.lines.ClassShapes.Member;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.objectweb.asm.ConstantDynamic;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.MultiANewArrayInsnNode;
import org.objectweb.asm.tree.TypeInsnNode;

/**
 * Finds what would fail to link in some classes, beside others than those they were compiled against: classes, fields, methods and
 * constructors that are not there, not accessible or of another kind, and inherited abstract methods without implementation. A JVM
 * finds most of it only when the code runs.
 *
 * <p>Last, each class is loaded and verified, but not initialised, by the JVM itself.
 */
final class LinkCheck {
    private final ClassLoader loader;
    private final ClassShapes shapes;
    private final SortedSet<String> problems = new TreeSet<>();
    private int references;
    /** The class whose references are looked at. */
    private ClassNode subject;

    /**
     * What was found.
     *
     * @param references how many were looked at
     * @param problems each as "CLASS: what is wrong"
     */
    record Result(int references, List<String> problems) {}

    private LinkCheck(ClassLoader loader) {
        this.loader = loader;
        this.shapes = new ClassShapes(loader);
    }

    /** Checks classes, with their code, which the loader must find too, as well as all that they need. */
    static Result of(Collection<ClassNode> subjects, ClassLoader loader) {
        LinkCheck check = new LinkCheck(loader);
        subjects.forEach(check::check);
        return new Result(check.references, List.copyOf(check.problems));
    }

    private void check(ClassNode type) {
        subject = type;
        Stream.concat(Stream.of(type.superName), type.interfaces.stream())
                .filter(name -> name != null)
                .forEach(name -> type(Type.getObjectType(name)));
        for (FieldNode field : type.fields) {
            type(Type.getType(field.desc));
        }
        for (MethodNode method : type.methods) {
            type(Type.getMethodType(method.desc));
            method.exceptions.forEach(name -> type(Type.getObjectType(name)));
            method.tryCatchBlocks.stream()
                    .filter(block -> block.type != null)
                    .forEach(block -> type(Type.getObjectType(block.type)));
            for (AbstractInsnNode instruction : method.instructions) {
                instruction(instruction);
            }
        }
        if ((type.access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_INTERFACE)) == 0) {
            inheritedAbstractMethods(type);
        }
        load(type);
    }

    private void problem(String text) {
        problems.add(Type.getObjectType(subject.name).getClassName() + ": " + text);
    }

    private void instruction(AbstractInsnNode instruction) {
        if (instruction instanceof MethodInsnNode call) {
            method(call.owner, call.name, call.desc, call.getOpcode() == Opcodes.INVOKESTATIC, call.itf);
        } else if (instruction instanceof FieldInsnNode access) {
            field(access.owner, access.name, access.desc, isStaticAccess(access.getOpcode()));
        } else if (instruction instanceof TypeInsnNode use) {
            type(Type.getObjectType(use.desc));
        } else if (instruction instanceof MultiANewArrayInsnNode array) {
            type(Type.getType(array.desc));
        } else if (instruction instanceof LdcInsnNode load) {
            constant(load.cst);
        } else if (instruction instanceof InvokeDynamicInsnNode dynamic) {
            type(Type.getMethodType(dynamic.desc));
            handle(dynamic.bsm);
            Stream.of(dynamic.bsmArgs).forEach(this::constant);
        }
    }

    private static boolean isStaticAccess(int opcode) {
        return opcode == Opcodes.GETSTATIC || opcode == Opcodes.PUTSTATIC;
    }

    private void constant(Object constant) {
        if (constant instanceof Type type) {
            type(type);
        } else if (constant instanceof Handle handle) {
            handle(handle);
        } else if (constant instanceof ConstantDynamic dynamic) {
            type(Type.getType(dynamic.getDescriptor()));
            handle(dynamic.getBootstrapMethod());
            for (int i = 0; i < dynamic.getBootstrapMethodArgumentCount(); i++) {
                constant(dynamic.getBootstrapMethodArgument(i));
            }
        }
    }

    private void handle(Handle handle) {
        int kind = handle.getTag();
        if (kind <= Opcodes.H_PUTSTATIC) {
            boolean isStatic = kind == Opcodes.H_GETSTATIC || kind == Opcodes.H_PUTSTATIC;
            field(handle.getOwner(), handle.getName(), handle.getDesc(), isStatic);
        } else {
            boolean isStatic = kind == Opcodes.H_INVOKESTATIC;
            method(handle.getOwner(), handle.getName(), handle.getDesc(), isStatic, handle.isInterface());
        }
    }

    /** Looks up a class, the class of an array's elements, or those of a method's descriptor. */
    private void type(Type type) {
        switch (type.getSort()) {
            case Type.OBJECT -> accessibleClass(type.getInternalName());
            case Type.ARRAY -> type(type.getElementType());
            case Type.METHOD -> {
                type(type.getReturnType());
                Stream.of(type.getArgumentTypes()).forEach(this::type);
            }
            default -> {}
        }
    }

    private Optional<ClassNode> accessibleClass(String name) {
        references++;
        Optional<ClassNode> type = shapes.find(name);
        if (type.isEmpty()) {
            problem("no class " + Type.getObjectType(name).getClassName());
        } else if ((type.get().access & Opcodes.ACC_PUBLIC) == 0
                && !packageOf(name).equals(packageOf(subject.name))) {
            problem("class " + Type.getObjectType(name).getClassName() + " is not public");
        }
        return type;
    }

    private void method(String owner, String name, String descriptor, boolean isStatic, boolean ofInterface) {
        type(Type.getMethodType(descriptor));
        if (owner.startsWith("[")) {
            // Object's methods, and clone.
            type(Type.getObjectType(owner));
            return;
        }
        Optional<ClassNode> type = accessibleClass(owner);
        if (type.isEmpty()) {
            return;
        }
        String text = "method " + Type.getObjectType(owner).getClassName() + "." + name + descriptor;
        if (((type.get().access & Opcodes.ACC_INTERFACE) != 0) != ofInterface) {
            problem("the class of " + text + (ofInterface ? " is no interface" : " is an interface"));
        }
        member(shapes.method(type.get(), name, descriptor), isStatic, text);
    }

    private void field(String owner, String name, String descriptor, boolean isStatic) {
        type(Type.getType(descriptor));
        Optional<ClassNode> type = accessibleClass(owner);
        if (type.isPresent()) {
            String text = "field " + Type.getObjectType(owner).getClassName() + "." + name + " " + descriptor;
            member(shapes.field(type.get(), name, descriptor), isStatic, text);
        }
    }

    private void member(Optional<Member> found, boolean isStatic, String text) {
        references++;
        if (found.isEmpty()) {
            problem("no " + text);
        } else if (found.get().is(Opcodes.ACC_STATIC) != isStatic) {
            problem(text + (isStatic ? " is not static" : " is static"));
        } else if (!isAccessible(found.get())) {
            problem(text + " is not accessible");
        }
    }

    private boolean isAccessible(Member member) {
        String owner = member.owner().name;
        if (member.is(Opcodes.ACC_PUBLIC)) {
            return true;
        }
        if (member.is(Opcodes.ACC_PRIVATE)) {
            return nest(member.owner()).equals(nest(subject));
        }
        if (packageOf(owner).equals(packageOf(subject.name))) {
            return true;
        }
        // An array's clone is another matter, and does not come here.
        return member.is(Opcodes.ACC_PROTECTED) && shapes.inherits(shape(subject), member.owner());
    }

    /** The subject as others see it. */
    private ClassNode shape(ClassNode type) {
        return shapes.find(type.name).orElseThrow();
    }

    private static String nest(ClassNode type) {
        return type.nestHostClass == null ? type.name : type.nestHostClass;
    }

    private static String packageOf(String name) {
        return name.substring(0, name.lastIndexOf('/') + 1);
    }

    private void inheritedAbstractMethods(ClassNode type) {
        ClassNode shape = shape(type);
        Stream.concat(shapes.lineage(shape), shapes.interfaces(shape).stream())
                .flatMap(owner -> owner.methods.stream())
                .filter(method -> (method.access & Opcodes.ACC_ABSTRACT) != 0)
                .filter(method ->
                        shapes.implementation(shape, method.name, method.desc).isEmpty())
                .forEach(method -> problem("does not implement " + method.name + method.desc));
    }

    private void load(ClassNode type) {
        try {
            Class<?> loaded = Class.forName(Type.getObjectType(type.name).getClassName(), false, loader);
            // Asking for members makes the JVM verify the class.
            references += loaded.getDeclaredMethods().length;
        } catch (ClassNotFoundException | LinkageError e) {
            problem("cannot be loaded: " + e);
        }
    }
}
