/* A persistent evaluator that says much: about 1 KB of side information of every kind, different for each payload.
   What it says is the payload's alone, however it is called: a program that counts calls is not kept alive. */
#include <stdio.h>
#include <string.h>

static const char words[] = "the answer names the right city but leaves out the year that was asked for; ";

static unsigned digest(const char *text) { /* FNV-1a */
  unsigned noise = 2166136261u;
  for (; *text; text++) noise = (noise ^ (unsigned char)*text) * 16777619u;
  return noise ^ noise >> 15;
}

static void say(const char *line) {
  unsigned noise = digest(line);
  printf("{\"score\":%.4f,\"tokens\":%u,\"cost\":0.%06u,\"latency_ms\":%u.%u,\"is_valid\":%s,\"is_cached\":%s,",
         (noise >> 16) % 10001 / 10000.0, noise % 4096, noise % 1000000, noise % 900, noise % 10,
         noise & 256 ? "true" : "false", noise & 512 ? "true" : "false");
  printf("\"category\":\"category %u\",\"tags\":[\"short\",\"tag %u\"],\"parts\":{\"style\":%.3f,\"truth\":%.3f},",
         noise % 7, noise % 5, noise % 1000 / 1000.0, noise % 777 / 1000.0);
  printf("\"feedback\":\"payload %u: %s%s%s%s%s%s%s%s%s%s\",", noise, words, words, words, words, words, words, words,
         words, words, words);
}

int main(void) {
  static char line[65536];
  while (fgets(line, sizeof line, stdin)) {
    char *id = strstr(line, "\"_id\":\"");
    if (id) {
      id[-1] = 0; /* the comma before it */
      id += 7;
      id[strcspn(id, "\"")] = 0;
    } else {
      line[strcspn(line, "\n")] = 0;
      line[strlen(line) - 1] = 0; /* the last brace */
    }
    say(line);
    if (id) {
      printf("\"_id\":\"%s\"}\n", id);
    } else {
      puts("\"_capabilities\":{\"persistent\":true,\"concurrency\":1}}");
    }
    fflush(stdout);
  }
  return 0;
}
