/* A library of tests in the place of an engine's: it hands every call on to the engine's library, ENGINE, and tells the lie that LIE names, at
 * every 16th chance. Without a lie it is as honest as the engine. */
#include "kvtrial.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVERY = 16, HELD = 64 };

/* Bytes of one's own. */
typedef struct { char *data; size_t len; } text;
typedef struct { text key, value; } record;
/* `held`: puts that were acknowledged and are not written yet. */
typedef struct { void *engine; pthread_mutex_t lock; record held[HELD]; int holds; } store;
/* `first`: what the session put first. `old`: a value that it has replaced. */
typedef struct { store *store; void *engine; record first, old; text said; } client;

static const kvtrial_store *engine;
static const char *lie;
static atomic_uint chances;

static int tells(const char *name) { return lie && !strcmp(lie, name); }
static int is_due(void) { return ++chances % EVERY == 0; }

static kvtrial_bytes bytes(text t) { return (kvtrial_bytes){t.data, t.len}; }
static int same(text t, kvtrial_bytes b) { return t.data && t.len == b.len && !memcmp(t.data, b.data, b.len); }
static void keep(text *t, kvtrial_bytes b) {
    t->data = realloc(t->data, b.len + 1), t->len = b.len;
    if (b.len) memcpy(t->data, b.data, b.len);
}

static int store_open(const kvtrial_config *config, void **opened, char *why) {
    store *s = *opened = calloc(1, sizeof *s);
    lie = getenv("LIE");
    pthread_mutex_init(&s->lock, NULL);
    return engine->open(config, &s->engine, why);
}

static int session_begin(void *opened, void **session, char *why) {
    client *c = *session = calloc(1, sizeof *c);
    c->store = opened;
    return engine->session(c->store->engine, &c->engine, why);
}
static void session_end(void *session) { engine->end(((client *)session)->engine), free(session); }

/* Writes what is held, by a session of the engine's. */
static int let_go(store *s, void *session) {
    int outcome = KVTRIAL_OK;
    for (int i = 0; i < s->holds && outcome == KVTRIAL_OK; i++)
        outcome = engine->put(session, bytes(s->held[i].key), bytes(s->held[i].value));
    s->holds = 0;
    return outcome;
}
static int let_go_first(void *session) {
    client *c = session;
    if (!tells("late_put")) return KVTRIAL_OK;
    pthread_mutex_lock(&c->store->lock);
    int outcome = let_go(c->store, c->engine);
    pthread_mutex_unlock(&c->store->lock);
    return outcome;
}
/* The same, for functions of the whole store. */
static int let_go_all(store *s) {
    void *session;
    char why[KVTRIAL_WHY];
    if (!s->holds) return KVTRIAL_OK;
    int outcome = engine->session(s->engine, &session, why);
    if (outcome == KVTRIAL_OK) outcome = let_go(s, session), engine->end(session);
    return outcome;
}
static void store_close(void *opened) { let_go_all(opened), engine->close(((store *)opened)->engine), free(opened); }

/* Acknowledges a put that is only held, unless there is no room for it. */
static int hold(client *c, kvtrial_bytes key, kvtrial_bytes value) {
    store *s = c->store;
    int at = 0, outcome = KVTRIAL_OK;
    pthread_mutex_lock(&s->lock);
    while (at < s->holds && !same(s->held[at].key, key)) at++;
    if (at == HELD) at = 0, outcome = let_go(s, c->engine);
    keep(&s->held[at].key, key), keep(&s->held[at].value, value);
    if (at == s->holds) s->holds++;
    pthread_mutex_unlock(&s->lock);
    return outcome;
}

static int get(void *session, kvtrial_bytes key, kvtrial_bytes *value) {
    client *c = session;
    if (tells("late_put")) {
        pthread_mutex_lock(&c->store->lock);
        int at = 0;
        while (at < c->store->holds && !same(c->store->held[at].key, key)) at++;
        int is_held = at < c->store->holds;
        if (is_held) keep(&c->said, bytes(c->store->held[at].value)), *value = bytes(c->said);
        pthread_mutex_unlock(&c->store->lock);
        if (is_held) return KVTRIAL_OK;
    }
    int outcome = engine->get(c->engine, key, value);
    if (outcome != KVTRIAL_OK) return outcome;
    if (tells("denied_hit") && is_due()) return KVTRIAL_MISSING;
    if (tells("other_value") && c->first.key.data && !same(c->first.key, key) && is_due()) *value = bytes(c->first.value);
    if (tells("old_value") && same(c->old.key, key) && is_due()) *value = bytes(c->old.value);
    if (tells("cut_value") && value->len && is_due()) value->len--;
    if (tells("wrong_bit") && value->len && is_due()) keep(&c->said, *value), c->said.data[value->len / 2] ^= 1, *value = bytes(c->said);
    return KVTRIAL_OK;
}

static int put(void *session, kvtrial_bytes key, kvtrial_bytes value) {
    client *c = session;
    kvtrial_bytes before;
    if (tells("lost_put") && is_due()) return KVTRIAL_OK;
    // Only what the engine would not refuse.
    if (tells("late_put") && key.len && key.len <= 64 && value.len < 4096) return hold(c, key, value);
    if (tells("other_value") && !c->first.key.data) keep(&c->first.key, key), keep(&c->first.value, value);
    if (tells("old_value") && engine->get(c->engine, key, &before) == KVTRIAL_OK) keep(&c->old.key, key), keep(&c->old.value, before);
    int outcome = let_go_first(c);
    return outcome == KVTRIAL_OK ? engine->put(c->engine, key, value) : outcome;
}

static int del(void *session, kvtrial_bytes key) {
    client *c = session;
    kvtrial_bytes value;
    if (tells("kept_key")) {
        int there = engine->get(c->engine, key, &value);
        if (there == KVTRIAL_OK && is_due()) return there;
    }
    int outcome = let_go_first(c);
    if (outcome == KVTRIAL_OK) outcome = engine->del(c->engine, key);
    return tells("second_delete") && outcome == KVTRIAL_MISSING && is_due() ? KVTRIAL_OK : outcome;
}

static int append(void *session, kvtrial_bytes key, kvtrial_bytes value) {
    client *c = session;
    if (tells("lost_append") && is_due()) return KVTRIAL_OK;
    int outcome = let_go_first(c);
    return outcome == KVTRIAL_OK ? engine->append(c->engine, key, value) : outcome;
}

static int batch(void *session, const kvtrial_pair *pairs, size_t count) {
    client *c = session;
    int outcome = let_go_first(c);
    return outcome == KVTRIAL_OK ? engine->batch(c->engine, pairs, count - (tells("lost_pair") && count > 1)) : outcome;
}

/* A scan that leaves a row out. */
typedef struct { kvtrial_row row; void *to; long at, without; } scanned;
static int pass(void *to, kvtrial_bytes key, kvtrial_bytes value) {
    scanned *s = to;
    return s->at++ == s->without ? 0 : s->row(s->to, key, value);
}
static int scan(void *session, kvtrial_bytes start, uint32_t limit, kvtrial_row row, void *to) {
    client *c = session;
    int outcome = let_go_first(c);
    if (outcome != KVTRIAL_OK) return outcome;
    int shortens = tells("short_scan") && limit > 1, skips = tells("skipped_row") && limit > 1;
    scanned s = {row, to, 0, skips ? 1 : -1};
    return engine->scan(c->engine, start, limit - shortens + skips, pass, &s);
}

static int sync_all(void *opened) {
    int outcome = let_go_all(opened);
    return outcome == KVTRIAL_OK ? engine->sync(((store *)opened)->engine) : outcome;
}
static int count(void *opened, uint64_t *keys) {
    int outcome = let_go_all(opened);
    return outcome == KVTRIAL_OK ? engine->count(((store *)opened)->engine, keys) : outcome;
}
static const char *error(void *session) { return engine->error(((client *)session)->engine); }

const kvtrial_store *kvtrial_plugin(uint32_t abi) {
    static kvtrial_store table;
    void *library = dlopen(ENGINE, RTLD_NOW | RTLD_LOCAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), NULL;
    engine = ((const kvtrial_store *(*)(uint32_t))dlsym(library, "kvtrial_plugin"))(abi);
    table = *engine;
    table.open = store_open, table.close = store_close, table.session = session_begin, table.end = session_end;
    table.get = get, table.put = put, table.del = del, table.append = append, table.batch = batch, table.scan = scan;
    table.sync = sync_all, table.count = count, table.error = error;
    return &table;
}
