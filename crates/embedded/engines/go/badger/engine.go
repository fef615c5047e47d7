// Badger: a log-structured merge tree of keys; large values have a log of their own.
//
// commit: every transaction is flushed (SyncWrites). os: the logs are mapped files, so the system has what was written. All changes are
// transactions, and one that meets another on a key begins again.
package main

import (
	"errors"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// The longest key that Badger takes.
const maxKeyBytes = 65000

var product = engine{name: "Badger", module: "github.com/dgraph-io/badger/v4", levels: os | commit, maxKeyBytes: maxKeyBytes}

type tree struct {
	db    *badger.DB
	level uint32
}

func open(directory string, level uint32) (store, error) {
	settings := badger.DefaultOptions(directory).WithSyncWrites(level == commit).WithLogger(nil)
	db, err := badger.Open(settings.WithCompression(options.Snappy))
	return tree{db, level}, err
}

func (t tree) get(key []byte, found func([]byte)) (was bool, err error) {
	err = t.db.View(func(tx *badger.Txn) error {
		item, err := tx.Get(key)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		was = true
		return item.Value(func(value []byte) error { found(value); return nil })
	})
	return
}

func (t tree) update(change func(*badger.Txn) error) error {
	for {
		err := t.db.Update(change)
		switch {
		case errors.Is(err, badger.ErrConflict):
			continue
		case errors.Is(err, badger.ErrEmptyKey), errors.Is(err, badger.ErrInvalidKey), errors.Is(err, badger.ErrTxnTooBig):
			return refusal{err}
		}
		return err
	}
}

// Badger keeps key and value until the commit, and no longer.
func set(tx *badger.Txn, key, value []byte) error {
	if len(key) > maxKeyBytes {
		return refusal{errors.New("the key is longer than 65,000 bytes")}
	}
	return tx.Set(key, value)
}

func (t tree) put(key, value []byte) error {
	return t.update(func(tx *badger.Txn) error { return set(tx, key, value) })
}

func (t tree) del(key []byte) (was bool, err error) {
	err = t.update(func(tx *badger.Txn) error {
		_, err := tx.Get(key)
		if was = err == nil; was {
			return tx.Delete(key)
		}
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		return err
	})
	return
}

func (t tree) add(key, value []byte) error {
	return t.update(func(tx *badger.Txn) error {
		item, err := tx.Get(key)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return set(tx, key, value)
		}
		if err != nil {
			return err
		}
		old, err := item.ValueCopy(nil)
		if err != nil {
			return err
		}
		return set(tx, key, append(old, value...))
	})
}

func (t tree) scan(start []byte, row func(key, value []byte) bool) error {
	return t.db.View(func(tx *badger.Txn) error {
		rows := tx.NewIterator(badger.DefaultIteratorOptions)
		defer rows.Close()
		for rows.Seek(start); rows.Valid(); rows.Next() {
			more := false
			item := rows.Item()
			if err := item.Value(func(value []byte) error { more = row(item.Key(), value); return nil }); err != nil || !more {
				return err
			}
		}
		return nil
	})
}

func (t tree) batch(pairs []pair) error {
	batch := t.db.NewWriteBatch()
	defer batch.Cancel()
	for _, one := range pairs {
		if err := batch.Set(one.key, one.value); err != nil {
			return err
		}
	}
	return batch.Flush()
}

func (t tree) sync() error {
	if t.level == os {
		return nil
	}
	return t.db.Sync()
}

func (t tree) close() error { return t.db.Close() }
