// An evaluator in Java (17 or newer): which share of the words the candidate and the example's `target` have in common.
// Java has no JSON: `value` reads objects, lists and texts, and relies on a payload being JSON.
// echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | java word_share.java
import static java.nio.charset.StandardCharsets.UTF_8;
import java.io.*;
import java.util.*;
import java.util.stream.*;
class Evaluator {
    static final PushbackReader input = new PushbackReader(new InputStreamReader(System.in, UTF_8));
    static char read() throws IOException {
        int sign = input.read();
        if (sign < 0) throw new EOFException("stdin ended inside a payload");
        return (char) sign;
    }
    static int next() throws IOException { // the next sign that is no blank; -1 where stdin ends
        int sign;
        do sign = input.read(); while (sign >= 0 && " \t\r\n,:".indexOf(sign) >= 0);
        return sign;
    }
    static Object value(int first) throws IOException {
        if (first == '"') return text();
        Map<Object, Object> found = new HashMap<>(); // a list's values stand under their places
        for (int sign = 0; first == '{' && (sign = next()) != '}';) found.put(text(), value(next()));
        for (int sign = 0; first == '[' && (sign = next()) != ']';) found.put(found.size(), value(sign));
        if (first == '{' || first == '[') return found;
        char sign = read(); // a number, true, false or null is passed over
        while (",]} \t\r\n".indexOf(sign) < 0) sign = read();
        input.unread(sign);
        return null;
    }
    static String text() throws IOException {
        StringBuilder said = new StringBuilder();
        for (char c = read(); c != '"'; c = read()) said.append(c == '\\' ? escaped(read()) : c);
        return said.toString();
    }
    static char escaped(char sign) throws IOException {
        if (sign == 'u') return (char) Integer.parseInt("" + read() + read() + read() + read(), 16);
        return "bfnrt".indexOf(sign) < 0 ? sign : "\b\f\n\r\t".charAt("bfnrt".indexOf(sign));
    }
    static List<String> words(Object text) { // letters and digits in a row; only A to Z are made small
        String small = text instanceof String said ? said : "";
        for (char c = 'A'; c <= 'Z'; c++) small = small.replace(c, (char) (c + 'a' - 'A'));
        return Stream.of(small.split("[^a-z0-9\\x80-\\x{10ffff}]+")).filter(word -> !word.isEmpty()).toList();
    }
    static String judge(Object candidate, Object target) { // change this: a score from 0 to 1, or an error, or a skip
        List<String> wanted = words(target), known = words(candidate);
        if (wanted.isEmpty()) return "\"error\":\"the example needs a target, a text with a word in it\"";
        long found = wanted.stream().filter(new HashSet<>(known)::contains).count(), all = Math.max(wanted.size(), known.size());
        return "\"score\":" + (double) found / all + ",\"found\":" + found + ",\"words\":" + all;
    }
    public static void main(String[] arguments) throws IOException {
        for (int first = next(); first >= 0; first = next()) { // further payloads may come as further lines
            Map<?, ?> payload = (Map<?, ?>) value(first), example = (Map<?, ?>) payload.get("example");
            String said = judge(payload.get("candidate"), example == null ? null : example.get("target"));
            String id = !(payload.get("_id") instanceof String text) ? "" : text.chars()
                .mapToObj("\\u%04x"::formatted).collect(Collectors.joining("", ",\"_id\":\"", "\""));
            System.out.println("{" + said + ",\"_capabilities\":{\"persistent\":true}" + id + "}");
        }
    }
}
