/* The floor: what a client of Redis cannot do without. A loop of epoll, send and recv that draws a key, asks for it and counts the bytes
 * of the replies. It parses, verifies and times nothing. With one connection it waits in recv and needs no epoll.
 * Keys and values are those of ycsb with 10,000 records of 64 bytes; they are written first.
 *
 * floor SOCKET_PATH|PORT CONNECTIONS PIPELINE OPERATIONS
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { RECORDS = 10000, VALUE = 64, REPLY = 5 + VALUE + 2, MOST_CONNECTIONS = 1024 };
#define HEAD "*2\r\n$3\r\nGET\r\n$16\r\nuser0000"
enum { HEAD_BYTES = sizeof(HEAD) - 1, REQUEST = HEAD_BYTES + 8 + 2 };

static void die(const char *what) {
    perror(what);
    exit(1);
}

static int dial(const char *place) {
    int fd;
    if (place[0] == '/') {
        struct sockaddr_un to = {.sun_family = AF_UNIX};
        strncpy(to.sun_path, place, sizeof to.sun_path - 1);
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&to, sizeof to)) die("connect");
    } else {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(place))};
        int on = 1;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&to, sizeof to)) die("connect");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return fd;
}

static void send_all(int fd, const char *bytes, size_t left) {
    while (left > 0) {
        ssize_t sent = send(fd, bytes, left, MSG_NOSIGNAL);
        if (sent < 0) die("send");
        bytes += sent;
        left -= sent;
    }
}

static void load(int fd) {
    char request[256], reply[5];
    for (int id = 0; id < RECORDS; id++) {
        int bytes = sprintf(request, "*3\r\n$3\r\nSET\r\n$16\r\nuser0000%08x\r\n$64\r\n%064d\r\n", id, id);
        send_all(fd, request, bytes);
        for (size_t got = 0; got < sizeof reply;) {
            ssize_t more = recv(fd, reply + got, sizeof reply - got, 0);
            if (more <= 0) die("recv");
            got += more;
        }
    }
}

static uint64_t state = 42;

static uint32_t draw(void) {
    state += 0xa0761d6478bd642fu;
    __uint128_t wide = (__uint128_t)state * (state ^ 0xe7037ed1a0b428dbu);
    uint64_t random = (uint64_t)(wide >> 64) ^ (uint64_t)wide;
    return (uint32_t)(((__uint128_t)random * RECORDS) >> 64);
}

static char requests[REQUEST * 4096];

/* Asks for `count` keys in one send. */
static void ask(int fd, long count) {
    static const char hex[] = "0123456789abcdef";
    char *at = requests;
    for (long left = count; left > 0; left--) {
        uint32_t id = draw();
        memcpy(at, HEAD, HEAD_BYTES);
        for (int digit = 0; digit < 8; digit++) at[HEAD_BYTES + digit] = hex[id >> (28 - 4 * digit) & 15];
        at[HEAD_BYTES + 8] = '\r';
        at[HEAD_BYTES + 9] = '\n';
        at += REQUEST;
    }
    send_all(fd, requests, at - requests);
}

int main(int argc, char **argv) {
    static int fds[MOST_CONNECTIONS];
    static long bytes[MOST_CONNECTIONS];
    static char replies[64 * 1024];
    if (argc != 5) return fprintf(stderr, "usage: floor SOCKET_PATH|PORT CONNECTIONS PIPELINE OPERATIONS\n"), 2;
    int connections = atoi(argv[2]), pipeline = atoi(argv[3]);
    long to_ask = atol(argv[4]), to_come = to_ask;
    if (connections > MOST_CONNECTIONS || pipeline > 4096) return 2;
    int poller = epoll_create1(0);
    for (int at = 0; at < connections; at++) {
        fds[at] = dial(argv[1]);
        struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = at};
        epoll_ctl(poller, EPOLL_CTL_ADD, fds[at], &event);
    }
    load(fds[0]);
    for (int at = 0; at < connections && to_ask > 0; at++) {
        long count = pipeline < to_ask ? pipeline : to_ask;
        ask(fds[at], count);
        to_ask -= count;
    }
    struct epoll_event events[MOST_CONNECTIONS];
    events[0].data.u32 = 0;
    while (to_come > 0) {
        int ready = connections == 1 ? 1 : epoll_wait(poller, events, MOST_CONNECTIONS, -1);
        if (ready < 0 && errno != EINTR) die("epoll_wait");
        for (int event = 0; event < ready; event++) {
            int at = events[event].data.u32;
            ssize_t got = recv(fds[at], replies, sizeof replies, connections == 1 ? 0 : MSG_DONTWAIT);
            if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
            if (got <= 0) die("recv");
            bytes[at] += got;
            long came = bytes[at] / REPLY;
            bytes[at] %= REPLY;
            to_come -= came;
            long count = came < to_ask ? came : to_ask;
            if (count > 0) ask(fds[at], count);
            to_ask -= count;
        }
    }
    return 0;
}
