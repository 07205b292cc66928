package io.verbena.arena;

import java.util.List;

/** Leases were live when their arena was closed. The message names the allocation sites. */
public final class LeakException extends IllegalStateException {
    private static final long serialVersionUID = 1L;
    private static final int SHOWN = 20;

    LeakException(int leases, long bytes, List<String> sites) {
        super("arena closed with live leases: leases=" + leases + ", heldBytes=" + bytes + ", allocated by "
                + String.join("; ", sites.subList(0, Math.min(SHOWN, sites.size())))
                + (sites.size() > SHOWN ? "; and " + (sites.size() - SHOWN) + " more" : "")
                + "; release them and close the arena again");
    }
}
