// What the engines of Go share: the functions of kvtrial.h, by which kvtrial calls the store of an engine. An engine is a file beside this
// one with its `product` and its `open`; `kvtrial fetch-store NAME` builds the two with kvtrial.h.
package main

/*
#define KVTRIAL_NO_PROTOTYPE
#include <stdlib.h>
#include <string.h>
#include "kvtrial.h"
int storeOpen(kvtrial_config *, uintptr_t *, char *);
void storeClose(uintptr_t);
int sessionBegin(uintptr_t, uintptr_t *, char *);
void sessionEnd(uintptr_t);
int get(uintptr_t, kvtrial_bytes, kvtrial_bytes *);
int put(uintptr_t, kvtrial_bytes, kvtrial_bytes);
int del(uintptr_t, kvtrial_bytes);
char *lastError(uintptr_t);
int add(uintptr_t, kvtrial_bytes, kvtrial_bytes);
int scan(uintptr_t, kvtrial_bytes, uint32_t, kvtrial_row, void *);
int batch(uintptr_t, kvtrial_pair *, size_t);
int flush(uintptr_t);
int count(uintptr_t, uint64_t *);
// Stores and sessions are numbers to Go, which must not keep pointers of its own in C.
static const kvtrial_store *table(const char *name, const char *version, uint32_t levels, uint64_t key, uint64_t value) {
	static kvtrial_store t = {
		.abi = KVTRIAL_ABI,
		.open = (int (*)(const kvtrial_config *, void **, char *))storeOpen, .close = (void (*)(void *))storeClose,
		.session = (int (*)(void *, void **, char *))sessionBegin, .end = (void (*)(void *))sessionEnd,
		.get = (int (*)(void *, kvtrial_bytes, kvtrial_bytes *))get,
		.put = (int (*)(void *, kvtrial_bytes, kvtrial_bytes))put, .del = (int (*)(void *, kvtrial_bytes))del,
		.error = (const char *(*)(void *))lastError, .append = (int (*)(void *, kvtrial_bytes, kvtrial_bytes))add,
		.scan = (int (*)(void *, kvtrial_bytes, uint32_t, kvtrial_row, void *))scan,
		.batch = (int (*)(void *, const kvtrial_pair *, size_t))batch,
		.sync = (int (*)(void *))flush, .count = (int (*)(void *, uint64_t *))count,
	};
	t.name = name, t.version = version, t.levels = levels, t.max_key_bytes = key, t.max_value_bytes = value;
	return &t;
}
// Hands over all rows of a scan in one call from Go, since such a call is dear. Before a row are two numbers: how long its key is, and its value.
static void deliver(const char *rows, size_t left, kvtrial_row row, void *to) {
	while (left) {
		uint64_t length[2];
		memcpy(length, rows, sizeof length);
		const char *key = rows + sizeof length;
		if (row(to, (kvtrial_bytes){key, length[0]}, (kvtrial_bytes){key + length[0], length[1]})) return;
		size_t whole = sizeof length + length[0] + length[1];
		rows += whole, left -= whole;
	}
}
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"
)

// The levels of kvtrial.h.
const (
	none   = C.KVTRIAL_NONE
	os     = C.KVTRIAL_OS
	commit = C.KVTRIAL_COMMIT
)

// An engine: its name, the module whose version is the engine's, and its limits.
type engine struct {
	name, module               string
	levels                     uint32
	maxKeyBytes, maxValueBytes uint64
}

// A store of an engine, used by all clients at once. Keys and values that come from kvtrial must not be kept.
type store interface {
	// Hands a value to `found`, which copies; false: there is none.
	get(key []byte, found func(value []byte)) (bool, error)
	put(key, value []byte) error
	// Says whether there was such a key, to one of several clients.
	del(key []byte) (bool, error)
	add(key, value []byte) error
	// Hands over pairs in order, to the end or until `row` says false.
	scan(start []byte, row func(key, value []byte) bool) error
	batch(pairs []pair) error
	sync() error
	close() error
}

type pair struct{ key, value []byte }

// What an engine says no to, before anything has happened.
type refusal struct{ error }

// A client's session. What kvtrial reads until the next call is in C's memory.
type client struct {
	store store
	value unsafe.Pointer
	len   int
	room  int
	why   *C.char
	rows  []byte
	pairs []pair
	found func(value []byte)
}

func (c *client) keep(value []byte) {
	if len(value) > c.room {
		c.room = len(value) + len(value)/2
		c.value = C.realloc(c.value, C.size_t(c.room))
	}
	c.len = copy(unsafe.Slice((*byte)(c.value), c.room), value)
}

func (c *client) outcome(err error) C.int {
	if err == nil {
		return C.KVTRIAL_OK
	}
	C.free(unsafe.Pointer(c.why))
	c.why = C.CString(err.Error())
	if errors.As(err, &refusal{}) {
		return C.KVTRIAL_REFUSED
	}
	return C.KVTRIAL_FAILED
}

// What C knows by its number, which is one more than its place. Read without a lock.
type numbered[T any] struct {
	all  atomic.Pointer[[]T]
	lock sync.Mutex
}

func (n *numbered[T]) add(one T) C.uintptr_t {
	n.lock.Lock()
	defer n.lock.Unlock()
	var grown []T
	if all := n.all.Load(); all != nil {
		grown = append(grown, *all...)
	}
	grown = append(grown, one)
	n.all.Store(&grown)
	return C.uintptr_t(len(grown))
}

func (n *numbered[T]) of(number C.uintptr_t) T { return (*n.all.Load())[number-1] }

var stores numbered[store]
var clients numbered[*client]

func bytes(b C.kvtrial_bytes) []byte { return unsafe.Slice((*byte)(b.data), int(b.len)) }

// Writes why a store was not opened, as much of it as kvtrial has room for.
func refused(err error, why *C.char) C.int {
	room := unsafe.Slice((*byte)(unsafe.Pointer(why)), C.KVTRIAL_WHY)
	room[copy(room[:C.KVTRIAL_WHY-1], err.Error())] = 0
	return C.KVTRIAL_FAILED
}

// The version of a module, as it was built in.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, one := range info.Deps {
			if one.Path == module {
				return one.Version[1:]
			}
		}
	}
	return "unknown"
}

//export kvtrial_plugin
func kvtrial_plugin(abi C.uint32_t) unsafe.Pointer {
	name, version := C.CString(product.name), C.CString(version(product.module))
	return unsafe.Pointer(C.table(name, version, C.uint32_t(product.levels), C.uint64_t(product.maxKeyBytes), C.uint64_t(product.maxValueBytes)))
}

//export storeOpen
func storeOpen(config *C.kvtrial_config, opened *C.uintptr_t, why *C.char) C.int {
	store, err := open(C.GoString(config.directory), uint32(config.level))
	if err != nil {
		return refused(err, why)
	}
	*opened = stores.add(store)
	return C.KVTRIAL_OK
}

//export storeClose
func storeClose(opened C.uintptr_t) { stores.of(opened).close() }

//export sessionBegin
func sessionBegin(opened C.uintptr_t, session *C.uintptr_t, why *C.char) C.int {
	c := &client{store: stores.of(opened)}
	c.found = c.keep
	*session = clients.add(c)
	return C.KVTRIAL_OK
}

//export sessionEnd
func sessionEnd(session C.uintptr_t) {
	c := clients.of(session)
	C.free(c.value)
	C.free(unsafe.Pointer(c.why))
	*c = client{}
}

//export get
func get(session C.uintptr_t, key C.kvtrial_bytes, value *C.kvtrial_bytes) C.int {
	c := clients.of(session)
	was, err := c.store.get(bytes(key), c.found)
	if err == nil && !was {
		return C.KVTRIAL_MISSING
	}
	value.data, value.len = c.value, C.size_t(c.len)
	return c.outcome(err)
}

//export put
func put(session C.uintptr_t, key C.kvtrial_bytes, value C.kvtrial_bytes) C.int {
	c := clients.of(session)
	return c.outcome(c.store.put(bytes(key), bytes(value)))
}

//export del
func del(session C.uintptr_t, key C.kvtrial_bytes) C.int {
	c := clients.of(session)
	was, err := c.store.del(bytes(key))
	if err == nil && !was {
		return C.KVTRIAL_MISSING
	}
	return c.outcome(err)
}

//export lastError
func lastError(session C.uintptr_t) *C.char { return clients.of(session).why }

//export add
func add(session C.uintptr_t, key C.kvtrial_bytes, value C.kvtrial_bytes) C.int {
	c := clients.of(session)
	return c.outcome(c.store.add(bytes(key), bytes(value)))
}

//export scan
func scan(session C.uintptr_t, start C.kvtrial_bytes, limit C.uint32_t, row C.kvtrial_row, to unsafe.Pointer) C.int {
	c := clients.of(session)
	c.rows = c.rows[:0]
	err := c.store.scan(bytes(start), func(key, value []byte) bool {
		if limit == 0 {
			return false
		}
		c.rows = binary.NativeEndian.AppendUint64(c.rows, uint64(len(key)))
		c.rows = binary.NativeEndian.AppendUint64(c.rows, uint64(len(value)))
		c.rows = append(append(c.rows, key...), value...)
		limit--
		return limit > 0
	})
	if err == nil && len(c.rows) > 0 {
		C.deliver((*C.char)(unsafe.Pointer(&c.rows[0])), C.size_t(len(c.rows)), row, to)
	}
	return c.outcome(err)
}

//export batch
func batch(session C.uintptr_t, pairs *C.kvtrial_pair, count C.size_t) C.int {
	c := clients.of(session)
	c.pairs = c.pairs[:0]
	for _, one := range unsafe.Slice(pairs, int(count)) {
		c.pairs = append(c.pairs, pair{bytes(one.key), bytes(one.value)})
	}
	return c.outcome(c.store.batch(c.pairs))
}

//export flush
func flush(opened C.uintptr_t) C.int {
	if stores.of(opened).sync() != nil {
		return C.KVTRIAL_FAILED
	}
	return C.KVTRIAL_OK
}

//export count
func count(opened C.uintptr_t, keys *C.uint64_t) C.int {
	*keys = 0
	err := stores.of(opened).scan(nil, func(_, _ []byte) bool { *keys++; return true })
	if err != nil {
		return C.KVTRIAL_FAILED
	}
	return C.KVTRIAL_OK
}

func main() {}
