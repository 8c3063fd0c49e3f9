/* An evaluator in C: which share of the words the candidate and the example's `target` have in common. C has no JSON:
 * `member` finds a value of an object, `text` decodes a text; both rely on a payload being JSON on one line.
 * echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | ./word_share */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *over_blanks(char *p) { return p + strspn(p, " \t\r\n,:"); }
static char *after(char *p) { /* the place after a value */
    for (int depth = 0, quoted = 0; *p && (depth || quoted || !strchr(",:]} \t\r\n", *p)); p++) {
        quoted ^= *p == '"';
        p += quoted && *p == '\\' && p[1];
        depth += quoted ? 0 : (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
    }
    return p;
}
static unsigned hex(const char *p) { return strtoul((char[]){p[0], p[1], p[2], p[3], 0}, NULL, 16); }
static char *text(char *p) { /* in UTF-8, to be freed; "" where there is no text; a NUL in it is a blank */
    char *said = calloc(p ? after(p) - p + 1 : 1, 1), *to = said, *sign;
    for (p = p && *p == '"' ? p + 1 : ""; *p && *p != '"'; to++) {
        if (*p != '\\') { *to = *p++; continue; }
        unsigned code = (sign = strchr("b\bf\fn\nr\rt\t", p[1])) ? sign[1] : p[1];
        if (p[1] == 'u') code = hex(p + 2), p += 4;
        if (code >> 10 == 0x36) code = 0x10000 + ((code & 0x3FF) << 10) + (hex(p + 4) & 0x3FF), p += 6;
        int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        for (int i = more; i; i--, code >>= 6) to[i] = 0x80 | (code & 0x3F);
        *to = more ? 0xF0 << (3 - more) | code : code ? code : ' ', to += more, p += 2;
    }
    return said;
}
static int same(char *name, const char *key) { int is = !strcmp(name, key); free(name); return is; }
static char *member(char *object, const char *key) { /* NULL where there is none */
    char *p = object && *object == '{' ? over_blanks(object + 1) : "";
    while (*p == '"' && !same(text(p), key)) p = over_blanks(after(over_blanks(after(p))));
    return *p == '"' ? over_blanks(after(p)) : NULL;
}
static void plain(char *p) { for (; *p; p++) if (!(*p & 0x80)) *p = isalnum(*p) ? tolower(*p) : ' '; }
static int has(const char *text, const char *word) {
    const char *p = text;
    while ((p = strstr(p, word)) && !((p == text || p[-1] == ' ') && strchr(" ", p[strlen(word)]))) p++;
    return p != NULL;
}
static void judge(char *candidate, char *target) { /* change this: print a "score", 0 to 1, an "error" or a "skip" */
    int words = 0, found = 0, said = 0; /* a word is letters and digits in a row; only A to Z are made small */
    plain(candidate), plain(target);
    for (char *p = candidate; *p; p++) said += *p != ' ' && (p == candidate || p[-1] == ' ');
    for (char *w = strtok(target, " "); w; w = strtok(NULL, " "), words++) found += has(candidate, w);
    if (words) words = said > words ? said : words, printf("{\"score\": %.17g, \"found\": %d, \"words\": %d", (double)found / words, found, words);
    else printf("{\"error\": \"the example needs a target, a text with a word in it\"");
}
int main(void) {
    char *line = NULL, *id;
    for (size_t room = 0; getline(&line, &room, stdin) > 0; puts("}"), fflush(stdout)) {
        char *payload = over_blanks(line), *candidate = text(member(payload, "candidate"));
        char *target = text(member(member(payload, "example"), "target"));
        judge(candidate, target), free(candidate), free(target);
        printf(", \"_capabilities\": {\"persistent\": true}"); /* further payloads may come as lines */
        if ((id = member(payload, "_id"))) printf(", \"_id\": %.*s", (int)(after(id) - id), id);
    }
}
