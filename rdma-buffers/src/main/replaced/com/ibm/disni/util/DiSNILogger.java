package com.ibm.disni.util;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes the place of DiSNI's class of this name: DiSNI logs each object it creates at level info, which executors' logs show. Here
 * that is level debug, under the same name.
 */
public final class DiSNILogger {
    private static final Logger TARGET = LoggerFactory.getLogger("com.ibm.disni");
    private static final Logger QUIET =
            (Logger) Proxy.newProxyInstance(DiSNILogger.class.getClassLoader(), new Class<?>[] {Logger.class}, DiSNILogger::call);

    private DiSNILogger() {}

    /** Returns the logger of all of DiSNI. */
    public static Logger getLogger() {
        return QUIET;
    }

    private static Object call(Object proxy, Method method, Object[] arguments) throws ReflectiveOperationException {
        Method quiet = method.getName().equals("info") ? Logger.class.getMethod("debug", method.getParameterTypes()) : method;
        return quiet.invoke(TARGET, arguments);
    }
}
