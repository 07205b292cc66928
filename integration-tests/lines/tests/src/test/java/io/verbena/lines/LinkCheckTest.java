package io.verbena.lines;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.ClassNode;

/** The check finds each kind of bad reference in a class that has it, and nothing in one that has none. */
class LinkCheckTest {
    private static final String NAME = "made/Subject";
    private static final String OBJECT = "java/lang/Object";
    private static final String TEXT = "java/lang/String";

    /** Defines one class that was made, and finds its bytes as a jar's would be found. */
    private static final class OneClass extends ClassLoader {
        private final byte[] bytes;

        OneClass(byte[] bytes) {
            super(ClassLoader.getPlatformClassLoader());
            this.bytes = bytes;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (!name.replace('.', '/').equals(NAME)) {
                throw new ClassNotFoundException(name);
            }
            return defineClass(name, bytes, 0, bytes.length);
        }

        @Override
        public java.io.InputStream getResourceAsStream(String name) {
            return name.equals(NAME + ".class")
                    ? new java.io.ByteArrayInputStream(bytes)
                    : super.getResourceAsStream(name);
        }
    }

    private static List<String> problems(String superName, List<String> interfaces, Consumer<MethodVisitor> code) {
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        writer.visit(
                Opcodes.V17,
                Opcodes.ACC_PUBLIC | Opcodes.ACC_SUPER,
                NAME,
                null,
                superName,
                interfaces.toArray(String[]::new));
        MethodVisitor method = writer.visitMethod(Opcodes.ACC_PUBLIC | Opcodes.ACC_STATIC, "run", "()V", null, null);
        method.visitCode();
        code.accept(method);
        method.visitInsn(Opcodes.RETURN);
        method.visitMaxs(0, 0);
        method.visitEnd();
        writer.visitEnd();
        byte[] bytes = writer.toByteArray();
        ClassNode type = new ClassNode();
        new ClassReader(bytes).accept(type, 0);
        return LinkCheck.of(List.of(type), new OneClass(bytes)).problems().stream()
                .map(problem -> problem.replace("made.Subject: ", ""))
                .toList();
    }

    private static List<String> problems(Consumer<MethodVisitor> code) {
        return problems(OBJECT, List.of(), code);
    }

    private static void call(
            MethodVisitor code, int opcode, String owner, String name, String descriptor, boolean itf) {
        if (opcode != Opcodes.INVOKESTATIC) {
            code.visitInsn(Opcodes.ACONST_NULL);
        }
        code.visitMethodInsn(opcode, owner, name, descriptor, itf);
    }

    @Test
    void shouldAcceptWhatIsThere() {
        assertThat(problems(code -> {
                    call(code, Opcodes.INVOKEVIRTUAL, "java/util/ArrayList", "notify", "()V", false);
                    call(code, Opcodes.INVOKEINTERFACE, "java/util/Deque", "clear", "()V", true);
                    call(code, Opcodes.INVOKEINTERFACE, "java/util/Deque", "notify", "()V", true);
                    code.visitFieldInsn(
                            Opcodes.GETSTATIC,
                            "java/util/concurrent/TimeUnit",
                            "DAYS",
                            "Ljava/util/concurrent/TimeUnit;");
                    code.visitInsn(Opcodes.POP);
                }))
                .isEmpty();
    }

    @Test
    void shouldFindAMissingMethod() {
        assertThat(problems(code -> call(code, Opcodes.INVOKEVIRTUAL, TEXT, "shout", "()V", false)))
                .containsExactly("no method java.lang.String.shout()V");
    }

    /** As when a return type changes: the name is there. */
    @Test
    void shouldFindAMethodThatReturnsSomethingElse() {
        assertThat(problems(code -> {
                    call(code, Opcodes.INVOKEVIRTUAL, TEXT, "length", "()J", false);
                    code.visitInsn(Opcodes.POP2);
                }))
                .containsExactly("no method java.lang.String.length()J");
    }

    @Test
    void shouldFindAMissingConstructorOfTheSuperclass() {
        assertThat(problems("java/util/ArrayList", List.of(), code -> {
                    code.visitTypeInsn(Opcodes.NEW, "java/util/ArrayList");
                    code.visitInsn(Opcodes.ACONST_NULL);
                    code.visitMethodInsn(
                            Opcodes.INVOKESPECIAL, "java/util/ArrayList", "<init>", "(Ljava/lang/String;)V", false);
                }))
                .containsExactly("no method java.util.ArrayList.<init>(Ljava/lang/String;)V");
    }

    @Test
    void shouldFindAMissingField() {
        assertThat(problems(code -> {
                    code.visitFieldInsn(Opcodes.GETSTATIC, "java/lang/Integer", "MAX_VALUE", "J");
                    code.visitInsn(Opcodes.POP2);
                }))
                .containsExactly("no field java.lang.Integer.MAX_VALUE J");
    }

    @Test
    void shouldFindAMissingClass() {
        assertThat(problems(code -> {
                    code.visitTypeInsn(Opcodes.NEW, "made/Missing");
                    code.visitInsn(Opcodes.POP);
                }))
                .containsExactly("no class made.Missing");
    }

    @Test
    void shouldFindACallOfTheOtherKind() {
        assertThat(problems(code -> call(code, Opcodes.INVOKESTATIC, TEXT, "notify", "()V", false)))
                .containsExactly("method java.lang.String.notify()V is not static");
        assertThat(problems(code -> call(code, Opcodes.INVOKEVIRTUAL, "java/util/List", "clear", "()V", false)))
                .containsExactly("the class of method java.util.List.clear()V is an interface");
    }

    @Test
    void shouldFindWhatIsNotAccessible() {
        assertThat(problems(code -> call(code, Opcodes.INVOKEVIRTUAL, OBJECT, "finalize", "()V", false)))
                .as("protected, and inherited")
                .isEmpty();
        assertThat(problems(code -> call(code, Opcodes.INVOKEVIRTUAL, "java/lang/Thread", "exit", "()V", false)))
                .containsExactly("method java.lang.Thread.exit()V is not accessible");
        assertThat(problems(code -> {
                    code.visitTypeInsn(Opcodes.NEW, "java/lang/Terminator");
                    code.visitInsn(Opcodes.POP);
                }))
                .containsExactly("class java.lang.Terminator is not public");
    }

    @Test
    void shouldFindAbstractMethodsWithoutImplementation() {
        assertThat(problems(OBJECT, List.of("java/util/Iterator"), code -> {}))
                .as("remove and forEachRemaining have a default")
                .containsExactly("does not implement hasNext()Z", "does not implement next()Ljava/lang/Object;");
    }

    @Test
    void shouldLookIntoMethodHandlesOfLambdas() {
        Handle bootstrap = new Handle(
                Opcodes.H_INVOKESTATIC,
                "java/lang/invoke/LambdaMetafactory",
                "metafactory",
                "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;"
                        + "Ljava/lang/invoke/MethodType;Ljava/lang/invoke/MethodHandle;Ljava/lang/invoke/MethodType;)"
                        + "Ljava/lang/invoke/CallSite;",
                false);
        Type signature = Type.getMethodType("()V");
        Map<String, String> expected = Map.of("gc", "", "shout", "no method java.lang.System.shout()V");
        expected.forEach((name, problem) -> assertThat(problems(code -> {
                    code.visitInvokeDynamicInsn(
                            "run",
                            "()Ljava/lang/Runnable;",
                            bootstrap,
                            signature,
                            new Handle(Opcodes.H_INVOKESTATIC, "java/lang/System", name, "()V", false),
                            signature);
                    code.visitInsn(Opcodes.POP);
                }))
                .isEqualTo(problem.isEmpty() ? List.of() : List.of(problem)));
    }

    @Test
    void shouldFindWhatTheVerifierRefuses() {
        assertThat(problems("java/lang/String", List.of(), code -> {}))
                .singleElement()
                .asString()
                .startsWith("cannot be loaded: java.lang.")
                .contains("final");
    }
}
