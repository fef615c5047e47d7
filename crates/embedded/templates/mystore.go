// mystore: a store of your own for kvtrial. A map to begin with. A call from C into Go takes some 50 ns or more.
//
// Build: go build -buildmode=c-shared -o mystore.so mystore.go
// Check: kvtrial check plugin:./mystore.so
// Run:   kvtrial run ycsb -s plugin:./mystore.so -s ram
package main

/*
#define KVTRIAL_NO_PROTOTYPE
#include <stdlib.h>
#include "kvtrial.h"
// Stores and sessions are numbers to Go, which must not keep pointers of its own in C.
int storeOpen(kvtrial_config *, uintptr_t *, char *);
void storeClose(uintptr_t);
int sessionBegin(uintptr_t, uintptr_t *, char *);
void sessionEnd(uintptr_t);
int get(uintptr_t, kvtrial_bytes, kvtrial_bytes *);
int put(uintptr_t, kvtrial_bytes, kvtrial_bytes);
int del(uintptr_t, kvtrial_bytes);
static const kvtrial_store *table(void) {
	static const kvtrial_store t = {
		.abi = KVTRIAL_ABI, .levels = KVTRIAL_NONE, .name = "mystore", .version = "0.1",
		.open = (int (*)(const kvtrial_config *, void **, char *))storeOpen, .close = (void (*)(void *))storeClose,
		.session = (int (*)(void *, void **, char *))sessionBegin, .end = (void (*)(void *))sessionEnd,
		.get = (int (*)(void *, kvtrial_bytes, kvtrial_bytes *))get,
		.put = (int (*)(void *, kvtrial_bytes, kvtrial_bytes))put, .del = (int (*)(void *, kvtrial_bytes))del,
	};
	return &t;
}
*/
import "C"

import (
	"runtime/cgo"
	"sync"
	"unsafe"
)

// A client's session: the value read last is in C's memory, where kvtrial reads it until the next call.
type client struct {
	values *sync.Map
	value  unsafe.Pointer
	room   C.size_t
}

func bytes(b C.kvtrial_bytes) []byte { return unsafe.Slice((*byte)(b.data), int(b.len)) }
func of(session C.uintptr_t) *client { return cgo.Handle(session).Value().(*client) }

//export kvtrial_plugin
func kvtrial_plugin(abi C.uint32_t) unsafe.Pointer { return unsafe.Pointer(C.table()) }

//export storeOpen
func storeOpen(config *C.kvtrial_config, opened *C.uintptr_t, why *C.char) C.int {
	*opened = C.uintptr_t(cgo.NewHandle(&sync.Map{}))
	return C.KVTRIAL_OK
}

//export storeClose
func storeClose(opened C.uintptr_t) { cgo.Handle(opened).Delete() }

//export sessionBegin
func sessionBegin(opened C.uintptr_t, session *C.uintptr_t, why *C.char) C.int {
	*session = C.uintptr_t(cgo.NewHandle(&client{values: cgo.Handle(opened).Value().(*sync.Map)}))
	return C.KVTRIAL_OK
}

//export sessionEnd
func sessionEnd(session C.uintptr_t) { C.free(of(session).value); cgo.Handle(session).Delete() }

//export get
func get(session C.uintptr_t, key C.kvtrial_bytes, value *C.kvtrial_bytes) C.int {
	c := of(session)
	stored, ok := c.values.Load(string(bytes(key)))
	if !ok {
		return C.KVTRIAL_MISSING
	}
	found := stored.([]byte) // never changed, only replaced
	if value.len = C.size_t(len(found)); value.len > c.room {
		c.value, c.room = C.realloc(c.value, value.len), value.len
	}
	value.data = c.value
	copy(bytes(*value), found)
	return C.KVTRIAL_OK
}

//export put
func put(session C.uintptr_t, key C.kvtrial_bytes, value C.kvtrial_bytes) C.int {
	of(session).values.Store(string(bytes(key)), append([]byte(nil), bytes(value)...))
	return C.KVTRIAL_OK
}

//export del
func del(session C.uintptr_t, key C.kvtrial_bytes) C.int {
	if _, was := of(session).values.LoadAndDelete(string(bytes(key))); !was {
		return C.KVTRIAL_MISSING
	}
	return C.KVTRIAL_OK
}

func main() {}
