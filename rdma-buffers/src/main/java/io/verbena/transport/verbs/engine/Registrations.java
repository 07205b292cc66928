package io.verbena.transport.verbs.engine;

import com.ibm.disni.verbs.IbvMr;
import com.ibm.disni.verbs.IbvPd;
import com.ibm.disni.verbs.SVCDeregMr;
import com.ibm.disni.verbs.SVCRegMr;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** DiSNI's way to register: one call object for one use, freed once. Threads: any. */
final class Registrations {
    private static final Logger LOG = LoggerFactory.getLogger(Registrations.class);

    private Registrations() {}

    static IbvMr register(IbvPd pd, long address, int length, int access) throws IOException {
        SVCRegMr call = pd.regMr(address, length, access);
        try {
            return call.execute().getMr();
        } finally {
            call.free();
        }
    }

    /** Returns false, logged, if the device still holds the memory: it must not be reused then. */
    static boolean deregister(IbvMr mr) {
        try {
            SVCDeregMr call = mr.deregMr();
            try {
                call.execute();
            } finally {
                call.free();
            }
            return true;
        } catch (IOException e) {
            LOG.warn("memory region stays registered: lkey=0x{}: {}", Integer.toHexString(mr.getLkey()), e.toString());
            return false;
        }
    }
}
