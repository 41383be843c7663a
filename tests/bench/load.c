// HTTP/1.1 load generator for gateways: plain JSON and SSE, one thread, epoll, closed loop.
// Counts responses, stream chunks (the stub's ~t<ns>~ marks), time to first body byte, and the delay of each
// chunk between leaving the stub and arriving here (same machine, same clock). A mark that was seen already does not
// count: Responses streams repeat their whole text at the end. Prints one line of JSON.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD, SIZE, DATA, DATAEND, TRAILER, FIXED, UNTILCLOSE };
enum { STEPS = 1024, CELLS = STEPS * 24 };
typedef struct { long n[CELLS]; long count; } hist;       // microseconds, log-linear, 1024 steps per doubling
typedef struct conn {
  int fd, state, status, got_first, hdr_len, connected, last;
  long left, sent_at, opened; size_t out_off;
  char hdr[8192];
  int mark; long stamp, newest;
  long due;                               // when its next request is to be sent; 0: it has one, or none is to come
} conn;

static int ep, conns = 10, quit_after_ms, slow, stop_opening, pause_ms, ramp_ms;
static double secs = 5; static long limit_n;
static char *req; static size_t req_len;
static struct sockaddr_in addr;
static long done_n, err_n, non200, chunks, bytes, aborted, started;
static hist ttft, total, delay;
static conn *all;

static long now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
static void add(hist *h, long us) {
  if (us < 0) us = 0;
  int s = 0; while (us >> s >= 2 * STEPS) s++;
  int i = s * STEPS + (int)(us >> s);
  if (i >= CELLS) i = CELLS - 1;
  h->n[i]++; h->count++;
}
static long pct(hist *h, double p) {
  long want = h->count * p, seen = 0;
  for (int i = 0; i < CELLS; i++) { seen += h->n[i]; if (seen > want) return i < 2 * STEPS ? i : (long)(i % STEPS + STEPS) << (i / STEPS - 1); }
  return 0;
}
static void arm(conn *c, int out) {
  struct epoll_event e = { .events = (slow && !out ? 0 : EPOLLIN) | (out ? EPOLLOUT : 0), .data.ptr = c };
  epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &e);
}
static void open_conn(conn *c) {
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (c->fd < 0) { perror("socket"); exit(1); }
  int one = 1; setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (slow) { int sz = 16384; setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &sz, sizeof sz); }
  if (connect(c->fd, (void *)&addr, sizeof addr) && errno != EINPROGRESS) { perror("connect"); exit(1); }
  c->state = HEAD; c->hdr_len = 0; c->out_off = 0; c->got_first = 0; c->connected = 0; c->mark = 0; c->sent_at = now_ns();
  struct epoll_event e = { .events = EPOLLIN | EPOLLOUT, .data.ptr = c };
  epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &e);
  started++;
}
static void reopen(conn *c) { close(c->fd); c->fd = -1; if (!stop_opening) open_conn(c); }
static void fail(conn *c) { err_n++; reopen(c); }
static void send_req(conn *c) {
  while (c->out_off < req_len) {
    ssize_t w = send(c->fd, req + c->out_off, req_len - c->out_off, MSG_NOSIGNAL);
    if (w < 0) { if (errno == EAGAIN) { arm(c, 1); return; } fail(c); return; }
    c->out_off += w;
  }
  arm(c, 0);
}
static void next_req(conn *c) {
  if (limit_n && started >= limit_n) { close(c->fd); c->fd = -1; return; }
  c->state = HEAD; c->hdr_len = 0; c->out_off = 0; c->got_first = 0; c->mark = 0; c->sent_at = now_ns(); started++;
  send_req(c);
}
// A pause of any length up to pause_ms, so that callers do not keep step.
static long after_pause(void) { return now_ns() + (long)(drand48() * pause_ms * 1e6); }
static void scan(conn *c, const char *p, long n, long now) {
  bytes += n;
  const char *end = p + n;
  if (n && !c->got_first) { c->got_first = 1; add(&ttft, (now - c->sent_at) / 1000); }
  while (p < end) {
    if (!c->mark) { p = memchr(p, '~', end - p); if (!p) return; p++; c->mark = 1; continue; }
    if (c->mark == 1) { if (*p != 't') { c->mark = 0; continue; } c->mark = 2; c->stamp = 0; p++; continue; }
    if (*p >= '0' && *p <= '9') { c->stamp = c->stamp * 10 + *p - '0'; c->mark++; p++; continue; }
    if (*p == '~' && c->mark == 21 && c->stamp > c->newest) { chunks++; c->newest = c->stamp; add(&delay, (now - c->stamp) / 1000); }
    c->mark = 0; p++;
  }
}
static int finish(conn *c, long now) {
  done_n++; if (c->status != 200) non200++;
  add(&total, (now - c->sent_at) / 1000);
  if (c->last || stop_opening) { if (limit_n && started >= limit_n) { close(c->fd); c->fd = -1; } else reopen(c); return 0; }
  if (pause_ms) c->due = after_pause(); else next_req(c);
  return 0;
}
static int feed(conn *c, char *p, long n, long now) {
  while (n > 0) switch (c->state) {
    case HEAD: {
      int room = sizeof c->hdr - 1 - c->hdr_len, take = n < room ? n : room, before = c->hdr_len;
      memcpy(c->hdr + before, p, take); c->hdr_len += take; c->hdr[c->hdr_len] = 0;
      char *e = memmem(c->hdr, c->hdr_len, "\r\n\r\n", 4);
      if (!e) { if (!room) { fail(c); return 0; } return 1; }
      int used = (int)(e + 4 - c->hdr) - before; p += used; n -= used; e[2] = 0;
      c->status = atoi(c->hdr + 9); c->last = 0; c->state = UNTILCLOSE;
      for (char *l = c->hdr; (l = strstr(l, "\r\n")); ) { l += 2;
        if (!strncasecmp(l, "content-length:", 15)) { c->left = atol(l + 15); c->state = FIXED; }
        else if (!strncasecmp(l, "transfer-encoding:", 18)) { c->state = SIZE; c->left = 0; }
        else if (!strncasecmp(l, "connection: close", 17)) c->last = 1;
      }
      if (c->state == FIXED && !c->left) return finish(c, now);
      break; }
    case SIZE: {
      char ch = *p++; n--;
      if (ch == '\n') { c->state = c->left ? DATA : TRAILER; c->hdr_len = 0; }
      else if (ch >= '0' && ch <= '9') c->left = c->left * 16 + ch - '0';
      else if ((ch | 32) >= 'a' && (ch | 32) <= 'f') c->left = c->left * 16 + (ch | 32) - 'a' + 10;
      break; }
    case DATA: case FIXED: {
      long take = n < c->left ? n : c->left;
      scan(c, p, take, now); p += take; n -= take; c->left -= take;
      if (!c->left) { if (c->state == FIXED) return finish(c, now); c->state = DATAEND; }
      break; }
    case DATAEND: if (*p == '\n') c->state = SIZE; p++; n--; break;
    case TRAILER: if (*p == '\n') return finish(c, now); p++; n--; break;
    case UNTILCLOSE: scan(c, p, n, now); n = 0; break;
  }
  return 1;
}
static void readable(conn *c) {
  static char buf[262144];
  long cap = slow ? slow : (long)sizeof buf;
  ssize_t r = recv(c->fd, buf, cap, 0);
  if (r < 0) { if (errno != EAGAIN) fail(c); return; }
  long now = now_ns();
  if (r == 0) {
    if (c->state == UNTILCLOSE) { c->last = 1; finish(c, now); }
    else fail(c);
    return;
  }
  feed(c, buf, r, now);
}
static char *slurp(const char *f) {
  FILE *h = fopen(f, "rb"); if (!h) { perror(f); exit(1); }
  fseek(h, 0, SEEK_END); long n = ftell(h); rewind(h);
  char *b = malloc(n + 1); n = fread(b, 1, n, h); b[n] = 0; fclose(h); return b;
}
static void report(double wall) {
  printf("{\"secs\":%.3f,\"done\":%ld,\"rps\":%.1f,\"errors\":%ld,\"non200\":%ld,\"aborted\":%ld,\"chunks\":%ld,\"chunks_per_s\":%.1f,\"mb\":%.2f,"
         "\"ttft_p50_us\":%ld,\"ttft_p99_us\":%ld,\"total_p50_us\":%ld,\"total_p99_us\":%ld,\"delay_p50_us\":%ld,\"delay_p99_us\":%ld}\n",
         wall, done_n, done_n / wall, err_n, non200, aborted, chunks, chunks / wall, bytes / 1e6,
         pct(&ttft, .5), pct(&ttft, .99), pct(&total, .5), pct(&total, .99), pct(&delay, .5), pct(&delay, .99));
}
int main(int argc, char **argv) {
  char *body = 0, hdrs[16384] = "", *url = 0; int o; double warm = 0;
  while ((o = getopt(argc, argv, "c:d:n:w:b:f:H:a:s:p:r:")) != -1) switch (o) {
    case 'c': conns = atoi(optarg); break;
    case 'd': secs = atof(optarg); break;
    case 'n': limit_n = atol(optarg); break;
    case 'w': warm = atof(optarg); break;
    case 'b': body = optarg; break;
    case 'f': body = slurp(optarg); break;
    case 'H': strcat(strcat(hdrs, optarg), "\r\n"); break;
    case 'a': quit_after_ms = atoi(optarg); break;
    case 's': slow = atoi(optarg); break;
    case 'p': pause_ms = atoi(optarg); break;
    case 'r': ramp_ms = atoi(optarg); break;
    default: url = 0; goto usage;
  }
  url = argv[optind];
  if (!url || strncmp(url, "http://", 7)) { usage:
    fprintf(stderr, "load [-c connections] [-d seconds] [-n max requests] [-w warm-up seconds] [-b body | -f file] [-H 'k: v']...\n"
                    "     [-a ms: hang up each request after ms, mid-stream] [-s bytes: slow reader, that many bytes per 100 ms]\n     [-p ms: pause before each request, of any length up to that]\n     [-r ms: the connections begin one after another over that time] http://ip:port/path\n"); return 1; }
  char host[64]; char *p = url + 7, *path = strchr(p, '/'); if (!path) path = "/";
  snprintf(host, sizeof host, "%.*s", (int)(path > p ? path - p : (long)strlen(p)), p);
  char *colon = strchr(host, ':'); addr.sin_family = AF_INET; addr.sin_port = htons(colon ? atoi(colon + 1) : 80);
  char ip[64]; snprintf(ip, sizeof ip, "%.*s", (int)(colon ? colon - host : (long)strlen(host)), host);
  if (!inet_pton(AF_INET, strcmp(ip, "localhost") ? ip : "127.0.0.1", &addr.sin_addr)) { fprintf(stderr, "need a numeric address\n"); return 1; }
  size_t bl = body ? strlen(body) : 0;
  req = malloc(bl + strlen(hdrs) + strlen(path) + 512);
  req_len = body ? sprintf(req, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s\r\n", path, host, bl, hdrs)
                 : sprintf(req, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", path, host, hdrs);
  if (body) { memcpy(req + req_len, body, bl); req_len += bl; }
  signal(SIGPIPE, SIG_IGN);
  struct rlimit rl; getrlimit(RLIMIT_NOFILE, &rl); rl.rlim_cur = rl.rlim_max; setrlimit(RLIMIT_NOFILE, &rl);
  ep = epoll_create1(0);
  all = calloc(conns, sizeof *all);
  long t0 = now_ns(), end = t0 + (secs + warm) * 1e9, warm_end = t0 + warm * 1e9, last_slow = t0;
  int opened = 0, warmed = warm <= 0;
  static struct epoll_event evs[1024];
  for (;;) {
    for (int i = 0; i < 64 && opened < conns && !(limit_n && started >= limit_n); i++) {
      conn *c = &all[opened++];
      if (ramp_ms) { c->fd = -1; c->due = t0 + (long)(ramp_ms * 1e6 / conns * (opened - 1)); }
      else if (pause_ms) { c->fd = -1; c->due = after_pause(); } else open_conn(c);
    }
    int n = epoll_wait(ep, evs, 1024, opened < conns ? 0 : quit_after_ms || slow || pause_ms || ramp_ms ? 1 : 50);
    for (int i = 0; i < n; i++) {
      conn *c = evs[i].data.ptr;
      if (c->fd < 0) continue;
      if (evs[i].events & EPOLLOUT) { send_req(c); continue; }
      if (evs[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) readable(c);
    }
    long now = now_ns();
    if (pause_ms || ramp_ms) for (int i = 0; i < opened; i++) {
      conn *c = &all[i];
      if (!c->due || c->due > now) continue;
      c->due = 0;
      if (c->fd < 0) open_conn(c); else next_req(c);
    }
    if (slow && now - last_slow > 100000000L) { last_slow = now; for (int i = 0; i < opened; i++) if (all[i].fd >= 0 && all[i].out_off == req_len) readable(&all[i]); }
    if (quit_after_ms) for (int i = 0; i < opened; i++) {
      conn *c = &all[i];
      if (c->fd >= 0 && c->out_off == req_len && now - c->sent_at > quit_after_ms * 1000000L) {
        aborted++; close(c->fd); c->fd = -1;
        if (!(limit_n && started >= limit_n)) open_conn(c);
      }
    }
    if (!warmed && now >= warm_end) {
      warmed = 1; done_n = err_n = non200 = chunks = bytes = aborted = 0; t0 = now;
      memset(&ttft, 0, sizeof ttft); memset(&total, 0, sizeof total); memset(&delay, 0, sizeof delay);
    }
    int live = opened < conns && !(limit_n && started >= limit_n); for (int i = 0; !live && i < opened; i++) live = all[i].fd >= 0 || all[i].due;
    if (now >= end || !live) break;
  }
  report((now_ns() - t0) / 1e9);
}
