/* The cheapest persistent evaluator: finds the payload's _id, which is its last key, and echoes it. */
#include <stdio.h>
#include <string.h>

int main(void) {
  static char line[65536];
  while (fgets(line, sizeof line, stdin)) {
    char *id = strstr(line, "\"_id\":\"");
    if (id) {
      id += 7;
      id[strcspn(id, "\"")] = 0;
      printf("{\"score\":0.5,\"_id\":\"%s\"}\n", id);
    } else {
      puts("{\"score\":0.5,\"_capabilities\":{\"persistent\":true}}");
    }
    fflush(stdout);
  }
  return 0;
}
