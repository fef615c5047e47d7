// bbolt: a B+tree in one file, mapped; one writer at a time.
//
// commit: every transaction is flushed (fdatasync). os: NoSync, the system has what was written, in the order of the writing: the page that names
// the rest is the last. A read copies its value, since an open read transaction would keep the file from growing.
package main

import (
	"errors"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolt "go.etcd.io/bbolt/errors"
)

var product = engine{
	name: "bbolt", module: "go.etcd.io/bbolt", levels: os | commit,
	maxKeyBytes: bbolt.MaxKeySize, maxValueBytes: bbolt.MaxValueSize,
}

var bucket = []byte("kvtrial")

type tree struct{ db *bbolt.DB }

func open(directory string, level uint32) (store, error) {
	path := filepath.Join(directory, "data.bbolt")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: level == os, Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	return tree{db}, err
}

func (t tree) get(key []byte, found func([]byte)) (was bool, err error) {
	err = t.db.View(func(tx *bbolt.Tx) error {
		value := tx.Bucket(bucket).Get(key)
		if was = value != nil; was {
			found(value)
		}
		return nil
	})
	return
}

func (t tree) update(change func(*bbolt.Bucket) error) error {
	err := t.db.Update(func(tx *bbolt.Tx) error { return change(tx.Bucket(bucket)) })
	for _, no := range []error{bolt.ErrKeyRequired, bolt.ErrKeyTooLarge, bolt.ErrValueTooLarge} {
		if errors.Is(err, no) {
			return refusal{err}
		}
	}
	return err
}

func (t tree) put(key, value []byte) error {
	return t.update(func(b *bbolt.Bucket) error { return b.Put(key, value) })
}

func (t tree) del(key []byte) (was bool, err error) {
	err = t.update(func(b *bbolt.Bucket) error {
		was = b.Get(key) != nil
		return b.Delete(key)
	})
	return
}

func (t tree) add(key, value []byte) error {
	return t.update(func(b *bbolt.Bucket) error {
		return b.Put(key, append(append([]byte(nil), b.Get(key)...), value...))
	})
}

func (t tree) scan(start []byte, row func(key, value []byte) bool) error {
	return t.db.View(func(tx *bbolt.Tx) error {
		cursor := tx.Bucket(bucket).Cursor()
		for key, value := cursor.Seek(start); key != nil && row(key, value); key, value = cursor.Next() {
		}
		return nil
	})
}

func (t tree) batch(pairs []pair) error {
	return t.update(func(b *bbolt.Bucket) error {
		for _, one := range pairs {
			if err := b.Put(one.key, one.value); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t tree) sync() error {
	if t.db.NoSync {
		return nil
	}
	return t.db.Sync()
}

func (t tree) close() error { return t.db.Close() }
