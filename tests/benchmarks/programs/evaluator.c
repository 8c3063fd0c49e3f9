/* The cheapest evaluator there is: reads its payload to the end, answers once. Linked statically. */
#include <unistd.h>

int main(void) {
  static char payload[65536];
  while (read(0, payload, sizeof payload) > 0) {
  }
  return write(1, "{\"score\":0.5}\n", 14) != 14;
}
