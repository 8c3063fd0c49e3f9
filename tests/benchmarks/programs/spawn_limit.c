/* The limit for one process per call: THREADS threads that pipe, posix_spawn, feed, read and wait, nothing else.
   usage: spawn_limit EVALUATOR CALLS THREADS */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *evaluator;
static int calls_each;

static void call(void) {
  static const char payload[] = "{\"_protocol_version\":2,\"candidate\":\"x\"}\n";
  int in[2], out[2];
  char answer[4096];
  char *argv[] = {evaluator, NULL};
  posix_spawn_file_actions_t actions;
  pid_t pid;
  if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) exit(1);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  if (posix_spawn(&pid, evaluator, &actions, NULL, argv, environ)) exit(1);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  if (write(in[1], payload, sizeof payload - 1) < 0) exit(1);
  close(in[1]);
  while (read(out[0], answer, sizeof answer) > 0) {
  }
  close(out[0]);
  if (waitpid(pid, NULL, 0) != pid) exit(1);
}

static void *slot(void *unused) {
  for (int i = 0; i < calls_each; i++) call();
  return unused;
}

int main(int argc, char **argv) {
  int threads = argc > 3 ? atoi(argv[3]) : 2;
  pthread_t slots[64];
  evaluator = argv[1];
  calls_each = atoi(argv[2]) / threads;
  for (int i = 0; i < threads; i++) pthread_create(&slots[i], NULL, slot, NULL);
  for (int i = 0; i < threads; i++) pthread_join(slots[i], NULL);
  return 0;
}
