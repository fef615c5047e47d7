/* A plugin of tests: an ordered list behind one lock, with every function of kvtrial.h, and faults on demand. */
#include "kvtrial.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct node { struct node *next; size_t key_len, len; char *key, *value; } node;
typedef struct { node *first; pthread_mutex_t lock; long crash_after; uint32_t level; int synced; } store;
typedef struct { store *store; char *value; const char *error; } client;

static int order(const node *n, kvtrial_bytes key) {
    size_t len = n->key_len < key.len ? n->key_len : key.len;
    int order = len ? memcmp(n->key, key.data, len) : 0;
    return order ? order : (n->key_len > key.len) - (n->key_len < key.len);
}

/* The link to the first node at the key or behind it. */
static node **at(store *s, kvtrial_bytes key) {
    node **link = &s->first;
    while (*link && order(*link, key) < 0) link = &(*link)->next;
    return link;
}

static int is(const node *n, kvtrial_bytes key) { return n && order(n, key) == 0; }

static int ordered_open(const kvtrial_config *config, void **opened, char *why) {
    store *s = calloc(1, sizeof *s);
    s->crash_after = -1, s->level = config->level;
    pthread_mutex_init(&s->lock, NULL);
    *opened = s;
    for (uint32_t i = 0; i < config->settings_len; i++) {
        const kvtrial_setting *setting = &config->settings[i];
        if (!strcmp(setting->name, "crash_after")) s->crash_after = atol(setting->value);
        if (!strcmp(setting->name, "refuse")) return snprintf(why, KVTRIAL_WHY, "I will not: %s", setting->value), KVTRIAL_REFUSED;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/kvtrial.ordered", config->directory);
    FILE *file = fopen(path, "w");
    if (!file) return snprintf(why, KVTRIAL_WHY, "no file can be made in %s", config->directory), KVTRIAL_FAILED;
    fclose(file);
    return KVTRIAL_OK;
}

static void ordered_close(void *opened) { (void)opened; }

static int begin(void *opened, void **session, char *why) {
    (void)why;
    client *c = calloc(1, sizeof *c);
    c->store = opened;
    *session = c;
    return KVTRIAL_OK;
}

static void end(void *session) { free(((client *)session)->value), free(session); }

static int get(void *session, kvtrial_bytes key, kvtrial_bytes *value) {
    client *c = session;
    pthread_mutex_lock(&c->store->lock);
    if (c->store->crash_after == 0) abort();
    c->store->crash_after -= c->store->crash_after > 0;
    node *n = *at(c->store, key);
    int found = is(n, key);
    if (found) {
        c->value = realloc(c->value, n->len + 1);
        memcpy(c->value, n->value, n->len);
        *value = (kvtrial_bytes){n->len ? c->value : NULL, n->len};
    }
    pthread_mutex_unlock(&c->store->lock);
    return found ? KVTRIAL_OK : KVTRIAL_MISSING;
}

/* Keeps a value behind `kept` bytes of the old one. */
static void keep(store *s, kvtrial_bytes key, kvtrial_bytes value, int append) {
    node **link = at(s, key), *n = *link;
    if (!is(n, key)) {
        n = calloc(1, sizeof *n);
        n->key = malloc(key.len + 1), n->key_len = key.len, n->next = *link;
        if (key.len) memcpy(n->key, key.data, key.len);
        *link = n;
    }
    size_t kept = append ? n->len : 0;
    n->value = realloc(n->value, kept + value.len + 1);
    if (value.len) memcpy(n->value + kept, value.data, value.len);
    n->len = kept + value.len;
}

static int write_one(void *session, kvtrial_bytes key, kvtrial_bytes value, int append) {
    client *c = session;
    if (value.len > 4 << 20) return c->error = "more than 4 MiB", KVTRIAL_REFUSED;
    if (key.len == 7 && !memcmp(key.data, "unknown", 7)) return c->error = "the power is off", KVTRIAL_FAILED;
    if (key.len == 7 && !memcmp(key.data, "nonsens", 7)) return 77;
    pthread_mutex_lock(&c->store->lock);
    keep(c->store, key, value, append);
    pthread_mutex_unlock(&c->store->lock);
    return KVTRIAL_OK;
}

static int put(void *session, kvtrial_bytes key, kvtrial_bytes value) { return write_one(session, key, value, 0); }
static int append(void *session, kvtrial_bytes key, kvtrial_bytes value) { return write_one(session, key, value, 1); }

static int del(void *session, kvtrial_bytes key) {
    client *c = session;
    pthread_mutex_lock(&c->store->lock);
    node **link = at(c->store, key), *n = *link;
    int found = is(n, key);
    if (found) *link = n->next, free(n->key), free(n->value), free(n);
    pthread_mutex_unlock(&c->store->lock);
    return found ? KVTRIAL_OK : KVTRIAL_MISSING;
}

static const char *error(void *session) { return ((client *)session)->error; }

static int scan(void *session, kvtrial_bytes start, uint32_t limit, kvtrial_row row, void *to) {
    client *c = session;
    pthread_mutex_lock(&c->store->lock);
    for (node *n = *at(c->store, start); n && limit; n = n->next, limit--)
        if (row(to, (kvtrial_bytes){n->key, n->key_len}, (kvtrial_bytes){n->value, n->len})) break;
    pthread_mutex_unlock(&c->store->lock);
    return KVTRIAL_OK;
}

static int batch(void *session, const kvtrial_pair *pairs, size_t count) {
    client *c = session;
    pthread_mutex_lock(&c->store->lock);
    for (size_t i = 0; i < count; i++) keep(c->store, pairs[i].key, pairs[i].value, 0);
    pthread_mutex_unlock(&c->store->lock);
    return KVTRIAL_OK;
}

static int ordered_sync(void *opened) { return ((store *)opened)->synced = 1, KVTRIAL_OK; }

static int count(void *opened, uint64_t *keys) {
    *keys = 0;
    for (node *n = ((store *)opened)->first; n; n = n->next) ++*keys;
    return KVTRIAL_OK;
}

static const kvtrial_option options[] = {
    {"crash_after", "gets until it aborts", NULL}, {"refuse", "words with which it refuses to open", NULL}, {NULL, NULL, NULL}};
static const kvtrial_store table = {
    .abi = KVTRIAL_ABI, .levels = KVTRIAL_NONE | KVTRIAL_OS, .name = "ordered", .version = "1.2", .options = options,
    .max_value_bytes = 4 << 20, .open = ordered_open, .close = ordered_close, .session = begin, .end = end, .get = get, .put = put,
    .del = del, .error = error, .append = append, .scan = scan, .batch = batch, .sync = ordered_sync, .count = count,
};
const kvtrial_store *kvtrial_plugin(uint32_t abi) { return (void)abi, &table; }
