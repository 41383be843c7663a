// Stub LLM upstream: one thread, epoll, no dependencies.
// Any POST gets a completion in the format that its path names: .../messages, .../responses, ...GenerateContent, else
// Chat Completions. The model (in the body, or in Gemini's path) steers it, so settings survive any gateway:
//   "stub-k200-p0-b1-d0-e200"  k chunks, p ms between chunks (0 = flat out), b events per write,
//                              d ms before the first byte, e status code
// "stream":true in the body, or Gemini's path, selects SSE. Each delta carries ~t<monotonic ns>~ so a client can time
// its delivery. GET /__stats returns counters; GET /__reset clears the cumulative ones.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

enum { WHEEL = 1 << 19, MAXB = 256, MAXTEXT = 32768, OUTCAP = 512 * (MAXB + 8) + 5 * MAXTEXT };
enum { CHAT, MESSAGES, RESPONSES, GEMINI };

typedef struct conn {
  int fd, armed_out, busy, stream, format, keep;
  char *in; size_t in_len, in_cap;
  char *out; size_t out_len, out_off;
  int k, p, b, d, e, sent, stage;        // stage: 0 head, 1 deltas, 2 tail, 3 done
  char *text; int text_len;               // what a Responses stream repeats at its end, its first MAXTEXT bytes
  struct conn *next, **prev;              // timer wheel slot
  long due;
} conn;

static int ep;
static conn *wheel[WHEEL];
static long now_tick;
static struct { long accepted, open, requests, active, finished, aborted, bytes, chunks; } st;
static char burst_out[OUTCAP];

static long now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }

static int timers;
static void untimer(conn *c) { if (c->prev) { timers--; *c->prev = c->next; if (c->next) c->next->prev = c->prev; c->prev = 0; c->next = 0; } }
static void timer(conn *c, int ms) {
  untimer(c);
  c->due = now_ns() / 1000000 + (ms < 1 ? 1 : ms);
  conn **s = &wheel[c->due % WHEEL];
  c->next = *s; if (*s) (*s)->prev = &c->next; *s = c; c->prev = s; timers++;
}
static void want_out(conn *c, int on) {
  if (c->armed_out == on) return;
  c->armed_out = on;
  struct epoll_event e = { .events = EPOLLIN | EPOLLRDHUP | (on ? EPOLLOUT : 0), .data.ptr = c };
  epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &e);
}
static void drop(conn *c) {
  if (c->busy) { st.aborted++; if (c->stream) st.active--; }
  untimer(c); close(c->fd); st.open--; free(c->in); free(c->out); free(c->text); free(c);
}

// One HTTP chunk holding one SSE event, built in place behind a size of fixed width.
static size_t event(char *o, const char *name, const char *data, int n) {
  char *ev = o + 10; int m = name ? sprintf(ev, "event: %s\ndata: ", name) : sprintf(ev, "data: ");
  memcpy(ev + m, data, n); m += n;
  memcpy(ev + m, "\n\n\r\n", 4); m += 2;
  char size[11]; sprintf(size, "%08x\r\n", m); memcpy(o, size, 10);
  return 10 + m + 2;
}
#define EV(o, name, s) event(o, name, s, (int)strlen(s))
#define CHUNK "{\"id\":\"chatcmpl-stub01\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"stub\","
#define RESPONSE "{\"id\":\"resp_stub\",\"object\":\"response\",\"created_at\":1700000000,\"model\":\"stub\","
#define ITEM "{\"id\":\"msg_stub\",\"type\":\"message\",\"role\":\"assistant\","
static size_t delta(char *o, conn *c) {
  char text[64], d[512]; int t = sprintf(text, "~t%019ld~ word", now_ns()), n;
  switch (c->format) {
    case MESSAGES:
      n = sprintf(d, "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"%s\"}}", text);
      return event(o, "content_block_delta", d, n);
    case RESPONSES:
      if (!c->text) c->text = malloc(MAXTEXT);
      if (c->text_len + t <= MAXTEXT) { memcpy(c->text + c->text_len, text, t); c->text_len += t; }
      n = sprintf(d, "{\"type\":\"response.output_text.delta\",\"sequence_number\":%d,\"item_id\":\"msg_stub\",\"output_index\":0,\"content_index\":0,\"delta\":\"%s\",\"logprobs\":[]}", c->sent + 4, text);
      return event(o, "response.output_text.delta", d, n);
    case GEMINI:
      n = sprintf(d, "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"%s\"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":12,\"candidatesTokenCount\":%d,\"totalTokenCount\":%d},\"modelVersion\":\"stub\",\"responseId\":\"stub01\"}", text, c->sent + 1, c->sent + 13);
      return event(o, 0, d, n);
    default:
      n = sprintf(d, CHUNK "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},\"finish_reason\":null}]}", text);
      return event(o, 0, d, n);
  }
}
static size_t head(char *o, conn *c) {
  size_t n = sprintf(o, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n");
  switch (c->format) {
    case MESSAGES:
      n += EV(o + n, "message_start", "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_stub\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"stub\",\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":12,\"output_tokens\":1}}}");
      n += EV(o + n, "content_block_start", "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}");
      break;
    case RESPONSES:
      n += EV(o + n, "response.created", "{\"type\":\"response.created\",\"sequence_number\":0,\"response\":" RESPONSE "\"status\":\"in_progress\",\"output\":[]}}");
      n += EV(o + n, "response.in_progress", "{\"type\":\"response.in_progress\",\"sequence_number\":1,\"response\":" RESPONSE "\"status\":\"in_progress\",\"output\":[]}}");
      n += EV(o + n, "response.output_item.added", "{\"type\":\"response.output_item.added\",\"sequence_number\":2,\"output_index\":0,\"item\":" ITEM "\"status\":\"in_progress\",\"content\":[]}}");
      n += EV(o + n, "response.content_part.added", "{\"type\":\"response.content_part.added\",\"sequence_number\":3,\"item_id\":\"msg_stub\",\"output_index\":0,\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}}");
      break;
    case GEMINI: break;
    default:
      n += EV(o + n, 0, CHUNK "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}");
  }
  return n;
}
static size_t tail(char *o, conn *c) {
  static char d[2 * MAXTEXT]; char part[MAXTEXT + 128]; size_t n = 0; int k = c->k, s = c->sent + 4;
  switch (c->format) {
    case MESSAGES:
      n += EV(o + n, "content_block_stop", "{\"type\":\"content_block_stop\",\"index\":0}");
      sprintf(d, "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":%d}}", k);
      n += EV(o + n, "message_delta", d);
      n += EV(o + n, "message_stop", "{\"type\":\"message_stop\"}");
      break;
    case RESPONSES: {
      int t = sprintf(d, "{\"type\":\"response.output_text.done\",\"sequence_number\":%d,\"item_id\":\"msg_stub\",\"output_index\":0,\"content_index\":0,\"text\":\"%.*s\",\"logprobs\":[]}", s, c->text_len, c->text);
      n += event(o + n, "response.output_text.done", d, t);
      sprintf(part, "{\"type\":\"output_text\",\"text\":\"%.*s\",\"annotations\":[]}", c->text_len, c->text);
      t = sprintf(d, "{\"type\":\"response.content_part.done\",\"sequence_number\":%d,\"item_id\":\"msg_stub\",\"output_index\":0,\"content_index\":0,\"part\":%s}", s + 1, part);
      n += event(o + n, "response.content_part.done", d, t);
      t = sprintf(d, "{\"type\":\"response.output_item.done\",\"sequence_number\":%d,\"output_index\":0,\"item\":" ITEM "\"status\":\"completed\",\"content\":[%s]}}", s + 2, part);
      n += event(o + n, "response.output_item.done", d, t);
      t = sprintf(d, "{\"type\":\"response.completed\",\"sequence_number\":%d,\"response\":" RESPONSE "\"status\":\"completed\",\"output\":[" ITEM "\"status\":\"completed\",\"content\":[%s]}],\"usage\":{\"input_tokens\":12,\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":%d,\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":%d}}}", s + 3, part, k, k + 12);
      n += event(o + n, "response.completed", d, t);
      break;
    }
    case GEMINI:
      sprintf(d, "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],\"role\":\"model\"},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":12,\"cachedContentTokenCount\":4,\"candidatesTokenCount\":%d,\"totalTokenCount\":%d},\"modelVersion\":\"stub\",\"responseId\":\"stub01\"}", k, k + 12);
      n += EV(o + n, 0, d);
      break;
    default:
      n += EV(o + n, 0, CHUNK "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}");
      sprintf(d, CHUNK "\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":%d,\"total_tokens\":%d,\"prompt_tokens_details\":{\"cached_tokens\":4}}}", k, k + 12);
      n += EV(o + n, 0, d);
      n += EV(o + n, 0, "[DONE]");
  }
  return n + sprintf(o + n, "0\r\n\r\n");
}
static size_t whole(char *o, conn *c) {
  char b[1200]; int n;
  const char *text = "This is a canned answer from the stub upstream. It is here to stand in for a short chat completion, so that the size of the reply is close to what a real provider sends for a brief question, headers not included.";
  if (c->e != 200) n = sprintf(b, "{\"error\":{\"message\":\"stub error\",\"type\":\"stub_error\",\"code\":\"%d\"}}", c->e);
  else if (c->format == RESPONSES) n = sprintf(b, RESPONSE "\"status\":\"completed\",\"output\":[" ITEM "\"status\":\"completed\",\"content\":[{\"type\":\"output_text\",\"text\":\"%s\",\"annotations\":[]}]}],\"usage\":{\"input_tokens\":12,\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":42,\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":54}}", text);
  else if (c->format == GEMINI) n = sprintf(b, "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"%s\"}],\"role\":\"model\"},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":12,\"cachedContentTokenCount\":4,\"candidatesTokenCount\":42,\"totalTokenCount\":54},\"modelVersion\":\"stub\",\"responseId\":\"stub01\"}", text);
  else if (c->format == MESSAGES) n = sprintf(b, "{\"id\":\"msg_stub\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"stub\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,\"usage\":{\"input_tokens\":12,\"output_tokens\":42}}", text);
  else n = sprintf(b, "{\"id\":\"chatcmpl-stub01\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"stub\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"%s\",\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":42,\"total_tokens\":54,\"prompt_tokens_details\":{\"cached_tokens\":4,\"audio_tokens\":0},\"completion_tokens_details\":{\"reasoning_tokens\":0,\"audio_tokens\":0}},\"service_tier\":\"default\",\"system_fingerprint\":\"fp_stub\"}", text);
  return sprintf(o, "HTTP/1.1 %d Stub\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%.*s", c->e, n, n, b);
}

static void parse(conn *c);
// Sends buf; keeps what does not fit. Returns 0 if the connection is gone.
static int emit(conn *c, const char *buf, size_t n) {
  ssize_t w = send(c->fd, buf, n, MSG_NOSIGNAL);
  if (w < 0) { if (errno != EAGAIN) { drop(c); return 0; } w = 0; }
  st.bytes += w;
  if ((size_t)w < n) {
    c->out = realloc(c->out, n - w); memcpy(c->out, buf + w, n - w);
    c->out_len = n - w; c->out_off = 0;
  }
  return 1;
}
static void finish(conn *c) {
  st.finished++; if (c->stream) st.active--;
  c->busy = 0; want_out(c, 0);
  if (!c->keep) { drop(c); return; }
  if (c->in_len) parse(c);
}
static void step(conn *c) {
  if (c->out_len) {
    ssize_t w = send(c->fd, c->out + c->out_off, c->out_len - c->out_off, MSG_NOSIGNAL);
    if (w < 0) { if (errno != EAGAIN) drop(c); else want_out(c, 1); return; }
    st.bytes += w; c->out_off += w;
    if (c->out_off < c->out_len) { want_out(c, 1); return; }
    c->out_len = 0; free(c->out); c->out = 0;
  }
  if (c->stage == 3) { finish(c); return; }
  size_t n = 0;
  if (!c->stream) { n = whole(burst_out, c); c->stage = 3; }
  else {
    if (c->stage == 0) { n = head(burst_out, c); c->stage = 1; }
    for (int i = 0; i < c->b && c->sent < c->k; i++) { n += delta(burst_out + n, c); c->sent++; st.chunks++; }
    if (c->sent >= c->k) { n += tail(burst_out + n, c); c->stage = 3; }
  }
  if (!emit(c, burst_out, n)) return;
  if (c->out_len) { want_out(c, 1); return; }
  if (c->stage == 3) { finish(c); return; }
  if (c->p) { want_out(c, 0); timer(c, c->p); } else want_out(c, 1);
}
static int opt(const char *m, const char *end, char key, int dflt) {
  for (; m + 1 < end; m++) if (*m == '-' && m[1] == key && m + 2 < end && m[2] >= '0' && m[2] <= '9') return atoi(m + 2);
  return dflt;
}
static int dk = 200, dp = 0, db = 1, dd = 0;
static void parse(conn *c) {
  char *he = memmem(c->in, c->in_len, "\r\n\r\n", 4);
  if (!he) return;
  he += 4;
  long cl = 0; int chunked = 0; c->keep = 1;
  for (char *l = memchr(c->in, '\n', he - c->in); l && l + 1 < he - 2; l = memchr(l + 1, '\n', he - l - 1)) {
    if (!strncasecmp(l + 1, "content-length:", 15)) cl = atol(l + 16);
    else if (!strncasecmp(l + 1, "transfer-encoding: chunked", 26)) chunked = 1;
    else if (!strncasecmp(l + 1, "connection: close", 17)) c->keep = 0;
  }
  size_t total;
  if (chunked) { // good enough for a stub: the body ends at the zero chunk
    char *z = !strncmp(he, "0\r\n\r\n", 5) ? he - 2 : memmem(he, c->in_len - (he - c->in), "\r\n0\r\n\r\n", 7);
    if (!z) return;
    total = z + 7 - c->in;
  } else { total = he - c->in + cl; if (c->in_len < total) return; }
  char *body = he, *bend = c->in + total;
  int get = !strncmp(c->in, "GET ", 4);
  char *sp = memchr(c->in, '\r', he - c->in);
  if (get) {
    int stats = !strncmp(c->in + 4, "/__stats", 8), reset = !strncmp(c->in + 4, "/__reset", 8);
    if (reset) { long a = st.active, o = st.open; memset(&st, 0, sizeof st); st.active = a; st.open = o; }
    char b[512]; int n = stats || reset ? sprintf(b, "{\"accepted\":%ld,\"open\":%ld,\"requests\":%ld,\"active\":%ld,\"finished\":%ld,\"aborted\":%ld,\"bytes\":%ld,\"chunks\":%ld}", st.accepted, st.open, st.requests, st.active, st.finished, st.aborted, st.bytes, st.chunks) : sprintf(b, "{\"object\":\"list\",\"data\":[]}");
    char r[800]; n = sprintf(r, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", n, b);
    c->in_len -= total; memmove(c->in, c->in + total, c->in_len);
    if (emit(c, r, n) && !c->keep) drop(c);
    return;
  }
  st.requests++;
  size_t line = sp - c->in;
#define NAMED(s) (memmem(c->in, line, s, sizeof s - 1) != 0)
  c->format = NAMED("/messages") ? MESSAGES : NAMED("/responses") ? RESPONSES : NAMED("enerateContent") ? GEMINI : CHAT;
  c->stream = c->format == GEMINI ? NAMED("streamGenerateContent")
    : memmem(body, bend - body, "\"stream\":true", 13) || memmem(body, bend - body, "\"stream\": true", 14);
  char *m = c->format == GEMINI ? memmem(c->in, line, "/stub-", 6) : memmem(body, bend - body, "\"stub-", 6);
  char *me = !m ? 0 : c->format == GEMINI ? memchr(m, ':', sp - m) : memchr(m + 1, '"', bend - m - 1);
  if (!m || !me) m = me = body;
  c->k = opt(m, me, 'k', dk); c->p = opt(m, me, 'p', dp); c->b = opt(m, me, 'b', db); c->d = opt(m, me, 'd', dd); c->e = opt(m, me, 'e', 200);
  if (c->b > MAXB) c->b = MAXB;
  if (c->p >= WHEEL) c->p = WHEEL - 1;
  if (c->d >= WHEEL) c->d = WHEEL - 1;
  if (c->e != 200) c->stream = 0;
  c->in_len -= total; memmove(c->in, c->in + total, c->in_len);
  if (c->in_cap > 65536 && !c->in_len) { free(c->in); c->in = 0; c->in_cap = 0; }
  c->busy = 1; c->sent = 0; c->stage = 0; c->text_len = 0;
  if (c->stream) st.active++;
  if (c->d) timer(c, c->d); else step(c);
}
static void readable(conn *c) {
  for (;;) {
    if (c->in_cap - c->in_len < 4096) c->in = realloc(c->in, c->in_cap = c->in_cap ? c->in_cap * 2 : 4096);
    else if (c->in_cap < 8192) c->in = realloc(c->in, c->in_cap = 8192);
    ssize_t r = recv(c->fd, c->in + c->in_len, c->in_cap - c->in_len, 0);
    if (r == 0 || (r < 0 && errno != EAGAIN)) { drop(c); return; }
    if (r < 0) return;
    c->in_len += r;
    int full = c->in_len == c->in_cap;
    if (!c->busy && !full) { parse(c); return; }
    if (!full) return;
  }
}
int main(int argc, char **argv) {
  int port = 9100, o, one = 1;
  while ((o = getopt(argc, argv, "p:k:w:b:d:")) != -1) {
    if (o == 'p') port = atoi(optarg); else if (o == 'k') dk = atoi(optarg); else if (o == 'w') dp = atoi(optarg);
    else if (o == 'b') db = atoi(optarg); else if (o == 'd') dd = atoi(optarg);
    else { fprintf(stderr, "stub [-p port] [-k chunks] [-w pace ms] [-b events per write] [-d first byte delay ms]\n"); return 1; }
  }
  signal(SIGPIPE, SIG_IGN);
  struct rlimit rl; getrlimit(RLIMIT_NOFILE, &rl); rl.rlim_cur = rl.rlim_max; setrlimit(RLIMIT_NOFILE, &rl);
  int ls = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  if (bind(ls, (void *)&a, sizeof a) || listen(ls, 4096)) { perror("bind"); return 1; }
  ep = epoll_create1(0);
  struct epoll_event e = { .events = EPOLLIN, .data.ptr = 0 };
  epoll_ctl(ep, EPOLL_CTL_ADD, ls, &e);
  now_tick = now_ns() / 1000000;
  static struct epoll_event evs[512];
  for (;;) {
    int n = epoll_wait(ep, evs, 512, timers ? 1 : -1);
    for (int i = 0; i < n; i++) {
      conn *c = evs[i].data.ptr;
      if (!c) {
        int fd;
        while ((fd = accept4(ls, 0, 0, SOCK_NONBLOCK)) >= 0) {
          setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
          c = calloc(1, sizeof *c); c->fd = fd;
          struct epoll_event ce = { .events = EPOLLIN | EPOLLRDHUP, .data.ptr = c };
          epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ce);
          st.accepted++; st.open++;
        }
      } else if (evs[i].events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) drop(c);
      else if (evs[i].events & EPOLLIN) readable(c);
      else if (evs[i].events & EPOLLOUT) step(c);
    }
    long t = now_ns() / 1000000;
    if (t - now_tick > WHEEL - 1) now_tick = t - WHEEL + 1;
    for (; now_tick <= t; now_tick++)
      for (conn *c = wheel[now_tick % WHEEL], *nx; c; c = nx) { nx = c->next; if (c->due <= t) { untimer(c); step(c); } }
    now_tick = t;
  }
}
