/* The cheapest HTTP endpoint: one thread, epoll, keep-alive; every whole request gets the same answer.
   Prints its port and serves until it is killed. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST 1024
#define ROOM 65536
static char buffers[MOST][ROOM];
static int held[MOST];
static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"score\":0.5}";

static int request_length(char *data, int size) {
  char *end = memmem(data, size, "\r\n\r\n", 4);
  if (!end) return 0;
  *end = 0;
  char *length = strcasestr(data, "content-length:");
  *end = '\r';
  int whole = end + 4 - data + (length ? atoi(length + 15) : 0);
  return whole <= size ? whole : 0;
}

static void serve(int fd) {
  int got = read(fd, buffers[fd] + held[fd], ROOM - held[fd]), whole;
  if (got <= 0) {
    held[fd] = 0;
    close(fd);
    return;
  }
  held[fd] += got;
  while ((whole = request_length(buffers[fd], held[fd]))) {
    if (write(fd, answer, sizeof answer - 1) < 0) return;
    held[fd] -= whole;
    memmove(buffers[fd], buffers[fd] + whole, held[fd]);
  }
}

int main(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  struct epoll_event event = {.events = EPOLLIN}, events[64];
  int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0), queue = epoll_create1(0);
  if (bind(listener, (void *)&address, size) || listen(listener, 128)) return 1;
  getsockname(listener, (void *)&address, &size);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  event.data.fd = listener;
  epoll_ctl(queue, EPOLL_CTL_ADD, listener, &event);
  for (;;) {
    int ready = epoll_wait(queue, events, 64, -1);
    for (int i = 0; i < ready; i++) {
      if (events[i].data.fd != listener) {
        serve(events[i].data.fd);
        continue;
      }
      int fd = accept(listener, NULL, NULL);
      if (fd < 0 || fd >= MOST) continue;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      event.data.fd = fd;
      epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event);
    }
  }
}
