package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/dgraph-io/badger/v4"
)

// File is a file that the index knows.
type File struct {
	Name     string
	Captures int64
	Damage   string // what was wrong with its bytes, "" if nothing

	rules byte // captureRules when it was read
}

// Outdated reports whether the file was indexed by earlier rules, so that Renew may bring other captures.
func (f File) Outdated() bool { return f.rules != captureRules }

// files keeps which files the index holds and what their numbers mean.
type files struct {
	db *badger.DB

	mu     sync.Mutex
	names  map[uint32]fileRef       // cache, emptied when it grows too large
	adding map[string]chan struct{} // closed when the Add of that name ends
	fresh  map[uint32]bool          // numbers of Adds under way
	now    Status
}

// fileRef is the file that a number stands for. A number without a name belongs to no file whose captures are found.
type fileRef struct {
	name    string
	version uint64 // Badger's version of the moment the file began to answer
}

const maxNames = 1 << 14

// init counts what the index holds.
func (f *files) init(db *badger.DB) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.db = db
	f.names = map[uint32]fileRef{}
	f.adding = map[string]chan struct{}{}
	f.fresh = map[uint32]bool{}
	f.now = Status{}
	return db.View(func(txn *badger.Txn) error {
		for file, err := range scanFiles(txn) {
			if err != nil {
				return err
			}
			f.now.Files++
			f.now.Captures += file.Captures
		}
		dead, err := scanDead(txn)
		f.now.Purging = len(dead)
		return err
	})
}

func (f *files) status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// ref returns the file that a number stands for; the name is empty if there is none.
func (f *files) ref(id uint32) (fileRef, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ref, ok := f.names[id]; ok {
		return ref, nil
	}
	var ref fileRef
	err := f.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get(uint32Key(prefixNumber, id))
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		ref.version = item.Version()
		return item.Value(func(v []byte) error {
			ref.name = string(v)
			return nil
		})
	})
	if err != nil {
		return fileRef{}, fmt.Errorf("look up file %d: %w", id, err)
	}
	if len(f.names) >= maxNames {
		clear(f.names)
	}
	f.names[id] = ref
	return ref, nil
}

// begin gives name a new number for an Add. If another Add of the name is under
// way, it returns a channel to wait on instead.
func (f *files) begin(name string) (id uint32, wait <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ch, ok := f.adding[name]; ok {
		return 0, ch, nil
	}
	err = f.db.Update(func(txn *badger.Txn) error {
		id, err = nextNumber(txn)
		if err != nil {
			return err
		}
		// Until the Add ends, the number counts as dead: after a crash it is purged.
		return txn.Set(uint32Key(prefixDead, id), nil)
	})
	if err != nil {
		return 0, nil, fmt.Errorf("number file %s: %w", name, err)
	}
	f.adding[name] = make(chan struct{})
	f.fresh[id] = true
	f.now.Adding++
	return id, nil, nil
}

func nextNumber(txn *badger.Txn) (uint32, error) {
	key := []byte{prefixCounter}
	n := uint32(0)
	item, err := txn.Get(key)
	switch {
	case err == nil:
		err = item.Value(func(v []byte) error {
			if len(v) != 4 {
				return errDamagedEntry
			}
			n = binary.BigEndian.Uint32(v)
			return nil
		})
		if err != nil {
			return 0, err
		}
	case !errors.Is(err, badger.ErrKeyNotFound):
		return 0, err
	}
	if n++; n == 0 {
		return 0, errors.New("the index has numbered as many files as it can: rebuild it")
	}
	return n, txn.Set(key, binary.BigEndian.AppendUint32(nil, n))
}

// finish ends an Add. If there is a file, its captures can be found from then on, in one transaction, in place of
// those of an earlier Add of the name.
func (f *files) finish(id uint32, name string, file *File) error {
	var old *File
	var oldID uint32
	var err error
	if file != nil {
		err = f.db.Update(func(txn *badger.Txn) error {
			if oldID, old, err = getFile(txn, name); err != nil {
				return err
			}
			if old != nil {
				if err := bury(txn, oldID); err != nil {
					return err
				}
			}
			return errors.Join(
				txn.Set(fileKey(name), appendFile(nil, id, *file)),
				txn.Set(uint32Key(prefixNumber, id), []byte(name)),
				txn.Delete(uint32Key(prefixDead, id)))
		})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.adding[name])
	delete(f.adding, name)
	delete(f.fresh, id)
	delete(f.names, id)
	f.now.Adding--
	if err != nil {
		f.now.Purging++
		return fmt.Errorf("finish file %s: %w", name, err)
	}
	if file == nil {
		f.now.Purging++
		return nil
	}
	f.now.Files++
	f.now.Captures += file.Captures
	if old != nil {
		f.forget(oldID, old)
	}
	return nil
}

// remove takes the name away, whereupon its captures no longer answer.
func (f *files) remove(name string) error {
	var file *File
	var id uint32
	err := f.db.Update(func(txn *badger.Txn) (err error) {
		if id, file, err = getFile(txn, name); err != nil || file == nil {
			return err
		}
		return errors.Join(txn.Delete(fileKey(name)), bury(txn, id))
	})
	if err != nil {
		return fmt.Errorf("remove file %s: %w", name, err)
	}
	if file == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(id, file)
	return nil
}

// forget updates cache and counts for a file that was buried. Called with mu held.
func (f *files) forget(id uint32, file *File) {
	delete(f.names, id)
	f.now.Files--
	f.now.Captures -= file.Captures
	f.now.Purging++
}

// bury detaches a number from its file, and marks it to be purged.
func bury(txn *badger.Txn, id uint32) error {
	return errors.Join(txn.Delete(uint32Key(prefixNumber, id)), txn.Set(uint32Key(prefixDead, id), nil))
}

// dead returns the numbers whose captures are to be purged.
func (f *files) dead() (map[uint32]bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var dead map[uint32]bool
	err := f.db.View(func(txn *badger.Txn) (err error) {
		dead, err = scanDead(txn)
		return err
	})
	for id := range f.fresh {
		delete(dead, id)
	}
	return dead, err
}

// purged notes that the numbers' captures are gone.
func (f *files) purged(dead map[uint32]bool) error {
	batch := f.db.NewWriteBatch()
	defer batch.Cancel()
	for id := range dead {
		if err := batch.Delete(uint32Key(prefixDead, id)); err != nil {
			return err
		}
	}
	if err := batch.Flush(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now.Purging -= len(dead)
	return nil
}

// getFile returns a file and its number; the file is nil if the index does not hold it.
func getFile(txn *badger.Txn, name string) (id uint32, file *File, err error) {
	item, err := txn.Get(fileKey(name))
	if errors.Is(err, badger.ErrKeyNotFound) {
		return 0, nil, nil
	} else if err != nil {
		return 0, nil, err
	}
	err = item.Value(func(v []byte) error {
		file = &File{Name: name}
		id, err = file.decode(v)
		return err
	})
	return id, file, err
}

func scanDead(txn *badger.Txn) (map[uint32]bool, error) {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte{prefixDead}})
	defer it.Close()
	dead := map[uint32]bool{}
	for it.Rewind(); it.Valid(); it.Next() {
		key := it.Item().Key()
		if len(key) != 5 {
			return nil, errDamagedEntry
		}
		dead[binary.BigEndian.Uint32(key[1:])] = true
	}
	return dead, nil
}

func scanFiles(txn *badger.Txn) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte{prefixFile}, PrefetchValues: true,
			PrefetchSize: 64})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			item := it.Item()
			file := File{Name: string(item.Key()[1:])}
			err := item.Value(func(v []byte) error {
				_, err := file.decode(v)
				return err
			})
			if !yield(file, err) || err != nil {
				return
			}
		}
	}
}

// File returns the entry of the file of that name, false if its captures cannot be found.
func (x *Index) File(name string) (File, bool) {
	if x.gate.enter() != nil {
		return File{}, false
	}
	defer x.gate.leave()
	var file *File
	err := x.db.View(func(txn *badger.Txn) (err error) {
		_, file, err = getFile(txn, name)
		return err
	})
	if err != nil || file == nil {
		return File{}, false
	}
	return *file, true
}

// Has reports whether the captures of the file of that name answer.
func (x *Index) Has(name string) bool {
	if x.gate.enter() != nil {
		return false
	}
	defer x.gate.leave()
	has, err := x.has(name)
	return err == nil && has
}

func (x *Index) has(name string) (bool, error) {
	var file *File
	err := x.db.View(func(txn *badger.Txn) (err error) {
		_, file, err = getFile(txn, name)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("look up file %s: %w", name, err)
	}
	return file != nil, nil
}

// Files yields the files whose captures answer, in order of their names.
func (x *Index) Files(ctx context.Context) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		if err := x.gate.enter(); err != nil {
			yield(File{}, err)
			return
		}
		defer x.gate.leave()
		txn := x.db.NewTransaction(false)
		defer txn.Discard()
		for file, err := range scanFiles(txn) {
			if err == nil {
				err = errors.Join(ctx.Err(), x.ctx.Err())
			}
			if !yield(file, err) || err != nil {
				return
			}
		}
	}
}
