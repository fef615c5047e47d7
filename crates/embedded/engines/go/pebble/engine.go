// Pebble: a log-structured merge tree, CockroachDB's.
//
// commit: a write waits until the log is flushed. os: it waits until the log is written; flushing a file does nothing. none: it waits for nothing, and
// the log is written by and by (NoSync). Append is Pebble's merge, which reads nothing. A delete reads first, and deletes of a key are one at a time.
package main

import (
	"errors"
	"hash/maphash"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

var product = engine{name: "Pebble", module: "github.com/cockroachdb/pebble/v2", levels: none | os | commit}

type tree struct {
	db      *pebble.DB
	write   *pebble.WriteOptions
	deletes [256]sync.Mutex
	seed    maphash.Seed
}

// The system's files, none of which is ever flushed.
type unflushed struct{ vfs.FS }

type unflushedFile struct{ vfs.File }

func (unflushedFile) Sync() error                      { return nil }
func (unflushedFile) SyncData() error                  { return nil }
func (unflushedFile) SyncTo(int64) (bool, error)       { return false, nil }
func (u unflushed) Unwrap() vfs.FS                     { return u.FS }
func (u unflushed) OpenDir(n string) (vfs.File, error) { return wrapped(u.FS.OpenDir(n)) }

func (u unflushed) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return wrapped(u.FS.Create(name, category))
}

func (u unflushed) OpenReadWrite(name string, category vfs.DiskWriteCategory, options ...vfs.OpenOption) (vfs.File, error) {
	return wrapped(u.FS.OpenReadWrite(name, category, options...))
}

func (u unflushed) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return wrapped(u.FS.ReuseForWrite(old, name, category))
}

func wrapped(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return unflushedFile{file}, nil
}

type silent struct{}

func (silent) Infof(string, ...any)              {}
func (silent) Errorf(string, ...any)             {}
func (silent) Fatalf(format string, args ...any) { pebble.DefaultLogger.Fatalf(format, args...) }

func open(directory string, level uint32) (store, error) {
	options := &pebble.Options{Logger: silent{}, FormatMajorVersion: pebble.FormatNewest, FS: vfs.Default}
	if level == os {
		options.FS = unflushed{vfs.Default}
	}
	db, err := pebble.Open(directory, options)
	write := pebble.Sync
	if level == none {
		write = pebble.NoSync
	}
	return &tree{db: db, write: write, seed: maphash.MakeSeed()}, err
}

func (t *tree) get(key []byte, found func([]byte)) (bool, error) {
	value, closer, err := t.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	found(value)
	return true, closer.Close()
}

func (t *tree) put(key, value []byte) error { return t.db.Set(key, value, t.write) }
func (t *tree) add(key, value []byte) error { return t.db.Merge(key, value, t.write) }

func (t *tree) del(key []byte) (bool, error) {
	lock := &t.deletes[maphash.Bytes(t.seed, key)%uint64(len(t.deletes))]
	lock.Lock()
	defer lock.Unlock()
	was, err := t.get(key, func([]byte) {})
	if !was || err != nil {
		return false, err
	}
	return true, t.db.Delete(key, t.write)
}

func (t *tree) scan(start []byte, row func(key, value []byte) bool) (err error) {
	rows, err := t.db.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for there := rows.SeekGE(start); there; there = rows.Next() {
		value, err := rows.ValueAndErr()
		if err != nil || !row(rows.Key(), value) {
			return err
		}
	}
	return rows.Error()
}

func (t *tree) batch(pairs []pair) error {
	batch := t.db.NewBatch()
	defer batch.Close()
	for _, one := range pairs {
		if err := batch.Set(one.key, one.value, nil); err != nil {
			return err
		}
	}
	return batch.Commit(t.write)
}

// An empty entry of the log that is waited for: all before it are written, and flushed where the level says so.
func (t *tree) sync() error { return t.db.LogData(nil, t.write) }

func (t *tree) close() error { return t.db.Close() }
