package iceberg_spark;

import java.util.ArrayList;
import java.util.List;

/**
 * Texts in pieces that py4j answers with at once.
 *
 * It writes an answer of more than 8 KiB in two parts, and TCP holds the second back until the first is
 * acknowledged: 40 ms, however short the rest is.
 */
public class LongTexts {
    private static final int MOST_BYTES = 8000;

    /** Returns what an object says of itself: a text, or a list of its pieces where it is long. */
    public Object text(Object of) {
        return pieces(of.toString());
    }

    private static Object pieces(String text) {
        List found = new ArrayList();
        int start = 0;
        int bytes = 0;
        for (int at = 0; at < text.length(); at++) {
            char one = text.charAt(at);
            int size = one >= 0x80 ? 3 : one == '\\' || one == '\n' || one == '\r' ? 2 : 1;
            if (bytes + size > MOST_BYTES && !Character.isLowSurrogate(one)) {
                found.add(text.substring(start, at));
                start = at;
                bytes = 0;
            }
            bytes += size;
        }
        if (found.isEmpty()) {
            return text;
        }
        found.add(text.substring(start));
        return found;
    }
}
