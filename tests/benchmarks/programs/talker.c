/* A persistent evaluator that says much: about 1 KB of side information of every kind, different for each call. */
#include <stdio.h>
#include <string.h>

static const char words[] = "the answer names the right city but leaves out the year that was asked for; ";

static void say(const char *id, unsigned call) {
  unsigned noise = call * 2654435761u;
  printf("{\"score\":%.4f,\"tokens\":%u,\"cost\":0.%06u,\"latency_ms\":%u.%u,\"is_valid\":%s,\"is_cached\":%s,",
         (noise >> 16) % 10001 / 10000.0, noise % 4096, noise % 1000000, noise % 900, call % 10,
         noise & 256 ? "true" : "false", noise & 512 ? "true" : "false");
  printf("\"category\":\"category %u\",\"tags\":[\"short\",\"tag %u\"],\"parts\":{\"style\":%.3f,\"truth\":%.3f},",
         noise % 7, noise % 5, noise % 1000 / 1000.0, noise % 777 / 1000.0);
  printf("\"feedback\":\"call %u: %s%s%s%s%s%s%s%s%s%s\",", call, words, words, words, words, words, words, words,
         words, words, words);
  printf("\"_id\":\"%s\"}\n", id);
}

int main(void) {
  static char line[65536];
  unsigned call = 0;
  while (fgets(line, sizeof line, stdin)) {
    char *id = strstr(line, "\"_id\":\"");
    if (id) {
      id += 7;
      id[strcspn(id, "\"")] = 0;
      say(id, call++);
    } else {
      puts("{\"score\":0.5,\"_capabilities\":{\"persistent\":true,\"concurrency\":1}}");
    }
    fflush(stdout);
  }
  return 0;
}
