/* A persistent evaluator that waits 250 ms for each answer, as one that asks a service does. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  static char line[65536];
  while (fgets(line, sizeof line, stdin)) {
    char *id = strstr(line, "\"_id\":\"");
    usleep(250000);
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
