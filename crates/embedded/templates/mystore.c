/* mystore: a store of your own for kvtrial. A hash map to begin with: buckets of chained records, and a lock per stripe of buckets.
 * Build: cc -std=c11 -O2 -shared -fPIC -pthread -o mystore.so mystore.c
 * Check: kvtrial check plugin:./mystore.so
 * Run:   kvtrial run ycsb -s plugin:./mystore.so -s plugin:./mystore.so,buckets=1000000 */
#include "kvtrial.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRIPES = 256 };

typedef struct record { struct record *next; size_t key_len, value_len; char bytes[]; } record;
typedef struct { size_t buckets; record **heads; pthread_mutex_t locks[STRIPES]; } store;
typedef struct { store *store; char *value; size_t room; } client;
static void copy(void *to, const void *from, size_t len) { if (len) memcpy(to, from, len); }

/* The place of a key: FNV-1a. */
static size_t bucket(const store *s, kvtrial_bytes key) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < key.len; i++) hash = (hash ^ ((const unsigned char *)key.data)[i]) * 1099511628211u;
    return (hash ^ hash >> 32) % s->buckets;
}

/* The link to a key's record, or to NULL at the end of its chain. */
static record **find(store *s, size_t at, kvtrial_bytes key) {
    record **link = &s->heads[at];
    while (*link && ((*link)->key_len != key.len || (key.len && memcmp((*link)->bytes, key.data, key.len)))) link = &(*link)->next;
    return link;
}

static int store_open(const kvtrial_config *config, void **opened, char *why) {
    size_t buckets = 1 << 20;
    for (uint32_t i = 0; i < config->settings_len; i++) buckets = strtoul(config->settings[i].value, NULL, 10);
    store *s = *opened = calloc(1, sizeof *s);
    record **heads = s && buckets ? calloc(buckets, sizeof *heads) : NULL;
    if (!heads) {
        snprintf(why, KVTRIAL_WHY, "buckets= must be a number of 1 or more, for which there is memory");
        return free(s), KVTRIAL_FAILED;
    }
    s->buckets = buckets, s->heads = heads;
    for (int i = 0; i < STRIPES; i++) pthread_mutex_init(&s->locks[i], NULL);
    return KVTRIAL_OK;
}

static void store_close(void *opened) {
    store *s = opened;
    for (size_t i = 0; i < s->buckets; i++)
        for (record *r = s->heads[i], *next; r; r = next) next = r->next, free(r);
    free(s->heads), free(s);
}

static int session_begin(void *opened, void **session, char *why) {
    client *c = *session = calloc(1, sizeof *c);
    if (!c) return snprintf(why, KVTRIAL_WHY, "no memory"), KVTRIAL_FAILED;
    c->store = opened;
    return KVTRIAL_OK;
}
static void session_end(void *session) { free(((client *)session)->value), free(session); }

static int get(void *session, kvtrial_bytes key, kvtrial_bytes *value) {
    client *c = session;
    size_t at = bucket(c->store, key);
    pthread_mutex_lock(&c->store->locks[at % STRIPES]);
    record *r = *find(c->store, at, key);
    size_t len = r ? r->value_len : 0;
    if (len > c->room) c->room = len, free(c->value), c->value = malloc(len);
    if (r) copy(c->value, r->bytes + r->key_len, len);
    pthread_mutex_unlock(&c->store->locks[at % STRIPES]);
    *value = (kvtrial_bytes){c->value, len};
    return r ? KVTRIAL_OK : KVTRIAL_MISSING;
}

/* Puts a record in the place of a key's, or takes the key's out where there is none to put. */
static int replace(client *c, kvtrial_bytes key, record *put) {
    size_t at = bucket(c->store, key);
    pthread_mutex_lock(&c->store->locks[at % STRIPES]);
    record **link = find(c->store, at, key), *old = *link, *rest = old ? old->next : NULL;
    *link = put ? put : rest;
    if (put) put->next = rest;
    pthread_mutex_unlock(&c->store->locks[at % STRIPES]);
    free(old);
    return put || old ? KVTRIAL_OK : KVTRIAL_MISSING;
}

static int put(void *session, kvtrial_bytes key, kvtrial_bytes value) {
    record *r = malloc(sizeof *r + key.len + value.len);
    if (!r) return KVTRIAL_REFUSED;
    r->key_len = key.len, r->value_len = value.len;
    copy(r->bytes, key.data, key.len), copy(r->bytes + key.len, value.data, value.len);
    return replace(session, key, r);
}
static int del(void *session, kvtrial_bytes key) { return replace(session, key, NULL); }
static const kvtrial_option options[] = {{"buckets", "chains of the hash map", "1048576"}, {NULL, NULL, NULL}};
static const kvtrial_store table = {
    .abi = KVTRIAL_ABI, .levels = KVTRIAL_NONE, .name = "mystore", .version = "0.1", .options = options,
    .open = store_open, .close = store_close, .session = session_begin, .end = session_end, .get = get, .put = put, .del = del,
};
const kvtrial_store *kvtrial_plugin(uint32_t abi) { return (void)abi, &table; }
