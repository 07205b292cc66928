package io.verbena.tpcds;

import com.google.errorprone.annotations.FormatMethod;
import java.util.Locale;

/** Small pieces of the page. */
final class HtmlText {
    private HtmlText() {}

    /** @return the template with its arguments, the same on every machine */
    @FormatMethod
    static String format(String template, Object... arguments) {
        return String.format(Locale.ROOT, template, arguments);
    }

    static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }

    /** @return the style class of a ratio sort / ours: differences below 5 % are shown as neither */
    static String ratioClass(double ratio) {
        if (ratio >= 1.05) {
            return "win";
        }
        return ratio <= 0.95 ? "loss" : "even";
    }
}
