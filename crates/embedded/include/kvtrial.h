/* kvtrial.h, version 1: a store of your own for kvtrial, as a shared library.
 *
 * A library exports one function, kvtrial_plugin, which returns one table: names, limits and functions. Build the library, then
 *     kvtrial check plugin:./mystore.so
 *     kvtrial run ycsb -s plugin:./mystore.so,key=value -s lmdb
 *
 * Functions that the table marks as optional may be NULL. What is not there is not asked for: a job emulates the operation and says
 * so, or refuses the store.
 *
 * Threads. kvtrial opens a store once, and one session per client. The functions of a session are called by one thread, that which
 * opened the session; sessions of other threads run at the same time. open and close are called by one thread, sync and count
 * while sessions are open but idle. close comes when all sessions have ended.
 *
 * Memory. Keys and values that kvtrial hands over are valid until the function returns, and so is the config of open. A value that get
 * hands back belongs to the plugin and stays valid until the next call on the same session: kvtrial copies nothing and frees nothing.
 * Other threads may meanwhile replace or delete the key, so a value shared between sessions is copied into the session first.
 * The data of a key or value of no bytes may be any pointer, also NULL. Keys and values hold any byte.
 *
 * Processes. The library runs in a worker process. One that crashes, calls exit or hangs loses its trial, and the study goes on.
 *
 * C99, C11 or C++. MIT OR Apache-2.0, as kvtrial itself. */
#ifndef KVTRIAL_H
#define KVTRIAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define KVTRIAL_ABI 1u

/* What most functions return. */
#define KVTRIAL_OK 0      /* It is done; of get and del: there was such a key. */
#define KVTRIAL_MISSING 1 /* get, del: there is no such key. */
#define KVTRIAL_REFUSED 2 /* The store said no, and nothing happened. */
#define KVTRIAL_FAILED 3  /* The operation failed, and may have happened. */

/* Levels of durability: what is acknowledged survives ... */
#define KVTRIAL_NONE 1u   /* nothing: all may be lost */
#define KVTRIAL_OS 2u     /* a kill of the process */
#define KVTRIAL_SECOND 4u /* a power cut, but for the last second */
#define KVTRIAL_COMMIT 8u /* a power cut */

/* The room for words on a failure, with the zero at the end. */
#define KVTRIAL_WHY 256

/* Any bytes. */
typedef struct kvtrial_bytes {
    const void *data;
    size_t len;
} kvtrial_bytes;

/* A key and its value. */
typedef struct kvtrial_pair {
    kvtrial_bytes key;
    kvtrial_bytes value;
} kvtrial_pair;

/* An option the store takes: -s plugin:./mystore.so,name=value. Not durability, lib, version, nor a layer of kvtrial's (cache, shard,
 * nodes, burn): those are kvtrial's own. */
typedef struct kvtrial_option {
    const char *name;
    const char *help;  /* what it means, in a line */
    const char *usual; /* the value where the user gives none; NULL: none */
} kvtrial_option;

/* An option as the user gave it. */
typedef struct kvtrial_setting {
    const char *name;
    const char *value;
} kvtrial_setting;

/* How to open the store. */
typedef struct kvtrial_config {
    const char *directory;           /* for its files: there, and empty unless this is the same trial opened again */
    uint32_t level;                  /* one of the levels of the table */
    uint32_t settings_len;
    const kvtrial_setting *settings; /* those the user gave; each is one of the options of the table */
} kvtrial_config;

/* Takes a row of a scan: key and value are copied at once. Returns 0 to go on, another number to stop. */
typedef int (*kvtrial_row)(void *to, kvtrial_bytes key, kvtrial_bytes value);

/* The table. It must stay as it is to the end of the process. */
typedef struct kvtrial_store {
    uint32_t abi;                  /* KVTRIAL_ABI */
    uint32_t levels;               /* the levels the store has, added up; the default is KVTRIAL_OS, else the weakest of them */
    const char *name;              /* the product, as reports show it */
    const char *version;
    const kvtrial_option *options; /* the last has the name NULL; NULL: no options */
    uint64_t max_key_bytes;        /* the longest key, more is refused; 0: no limit of the store's */
    uint64_t max_value_bytes;      /* the longest value, more is refused; 0: no limit of the store's */

    /* Opens the store. `why` has room for KVTRIAL_WHY bytes: write there why it fails. Any other number than KVTRIAL_OK is a failure. */
    int (*open)(const kvtrial_config *config, void **store, char *why);
    /* Closes the store and frees what is left of it. */
    void (*close)(void *store);

    /* Begins a client's session, and ends it. */
    int (*session)(void *store, void **session, char *why);
    void (*end)(void *session);

    /* Reads the value of a key: KVTRIAL_OK or KVTRIAL_MISSING. */
    int (*get)(void *session, kvtrial_bytes key, kvtrial_bytes *value);
    /* Stores a value, replacing any: KVTRIAL_OK. */
    int (*put)(void *session, kvtrial_bytes key, kvtrial_bytes value);
    /* Removes a key: KVTRIAL_OK, or KVTRIAL_MISSING where there was none. Of several clients only one may hear that there was one. */
    int (*del)(void *session, kvtrial_bytes key);

    /* All that follow are optional. */

    /* Returns the words on the last failure of the session; they stay valid until the next call. */
    const char *(*error)(void *session);
    /* Adds bytes at the end of a value, creating the key where there is none: KVTRIAL_OK. Not one of several at once is lost. */
    int (*append)(void *session, kvtrial_bytes key, kvtrial_bytes value);
    /* Hands at most `limit` pairs to `row(to, ...)`, in byte order of keys, the first at `start` or behind it: KVTRIAL_OK. */
    int (*scan)(void *session, kvtrial_bytes start, uint32_t limit, kvtrial_row row, void *to);
    /* Stores all pairs: KVTRIAL_OK. */
    int (*batch)(void *session, const kvtrial_pair *pairs, size_t count);
    /* Makes everything acknowledged as durable as the level demands: KVTRIAL_OK. Called at the end of the writing, inside the clock. */
    int (*sync)(void *store);
    /* Counts the keys in the store: KVTRIAL_OK. kvtrial compares the number with that of the keys it has written. */
    int (*count)(void *store, uint64_t *keys);
} kvtrial_store;

/* The only symbol that a plugin exports. `abi` is the version that this kvtrial has; a table of another one is refused, with both
 * numbers. */
#ifndef KVTRIAL_NO_PROTOTYPE
const kvtrial_store *kvtrial_plugin(uint32_t abi);
#endif

#ifdef __cplusplus
}
#endif

#endif
