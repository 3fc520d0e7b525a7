package files

import (
	"fmt"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Checked counts what a check of the files' entries looked at.
type Checked struct {
	Files   int64 // that are not removed
	Removed int64 // tombstones
	Lost    int64 // declared lost
}

// Check compares the entries of all files with everything that follows from them: the lists of shards, of owed, needed
// and disputed copies, of sources and releases, the roots and the totals, and the words of compact entries. It calls
// found for each key that is not as it should be, and pace for each entry and key, whose error ends the check. An
// error is the Reader's, or that of pace; a value that cannot be read is found, and is no error. Memory is bounded by
// the number of roots, words and replicas.
func (v View) Check(pace func() error, found func(key, what string)) (Checked, error) {
	c := &checker{records: v.records(), pace: pace, found: found,
		roots: map[string]Root{}, totals: map[cluster.ReplicaName]Totals{}}
	for _, step := range []func() error{c.begin, c.words, c.entries, c.sums, c.lists} {
		if err := step(); err != nil {
			return c.counts, err
		}
	}
	return c.counts, nil
}

// checker is a check under way.
type checker struct {
	records
	pace   func() error
	found  func(key, what string)
	level  int
	kinds  map[cluster.ReplicaName]cluster.ReplicaKind
	list   wordList
	roots  map[string]Root // by key
	totals map[cluster.ReplicaName]Totals
	counts Checked
}

func (c *checker) begin() (err error) {
	is, _, err := agree.Get[agree.Cluster](c.Reader, agree.PrefixCluster)
	if err != nil {
		c.found(agree.PrefixCluster, err.Error())
	}
	c.level = is.Level
	c.kinds, err = c.Kinds()
	return err
}

// each calls see for each key with the prefix. What is wrong with one ends nothing.
func (c *checker) each(prefix string, see func(key string, value []byte) error) error {
	var failed error
	err := c.Scan([]byte(prefix), nil, func(key, value []byte) bool {
		if failed = c.pace(); failed == nil {
			failed = see(string(key), value)
		}
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	return err
}

// words checks that the words are numbered without a gap, and that each is there once.
func (c *checker) words() error {
	c.list = wordList{numbers: map[string]uint64{}}
	return c.each(prefixWords, func(key string, value []byte) error {
		var text string
		if err := agree.DecodeValue(key, value, &text); err != nil {
			c.found(key, err.Error())
		}
		n := uint64(len(c.list.texts))
		if key != keyWord(n) {
			c.found(key, fmt.Sprintf("the word before it has the number %d", int64(n)-1))
		}
		if earlier, twice := c.list.numbers[text]; twice {
			c.found(key, fmt.Sprintf("word %d says the same", earlier))
		}
		c.list.texts = append(c.list.texts, text)
		c.list.numbers[text] = n
		return nil
	})
}

func (c *checker) entries() error {
	return c.each(PrefixFiles, func(key string, value []byte) error {
		f, err := decodeFile([]byte(key), value, func() (wordList, error) { return c.list, nil })
		switch {
		case err != nil:
			c.found(key, err.Error())
			return nil
		case keyFile(f.Name) != key:
			c.found(key, "the entry names "+agree.Clip(string(f.Name), 200))
			return nil
		}
		switch {
		case f.Removed != 0:
			c.counts.Removed++
		case f.Lost != 0:
			c.counts.Lost++
		default:
			c.counts.Files++
		}
		if f.counts() {
			root := keyRoot(f.Name.Shard(), f.Collection)
			c.roots[root] = c.roots[root].Add(RootOf(f.Name, f.Size, f.SHA256))
		}
		for i := range f.Copies {
			one := &f.Copies[i]
			if _, there := c.kinds[one.Replica]; !there {
				c.found(key, fmt.Sprintf("has a copy in %s, which is no replica", one.Replica))
			}
			if counted := f.counted(one.Replica); counted != nil {
				add(c.totals, one.Replica, totalsOf(f.Size, counted))
			}
		}
		return c.follows(&f)
	})
}

func add(to map[cluster.ReplicaName]Totals, replica cluster.ReplicaName, t Totals) {
	sum := to[replica]
	sum.Files, sum.Bytes, sum.Good = sum.Files+t.Files, sum.Bytes+t.Bytes, sum.Good+t.Good
	sum.Owed, sum.Disputed = sum.Owed+t.Owed, sum.Disputed+t.Disputed
	to[replica] = sum
}

// follows checks that every mark that follows from the entry is there.
func (c *checker) follows(f *File) error {
	for _, key := range c.marks(f) {
		there, err := agree.Has(c.Reader, key)
		if err != nil {
			return err
		}
		if !there {
			c.found(key, "is not there, and follows from the entry of "+string(f.Name))
		}
	}
	return nil
}

// marks returns the keys of the marks that follow from the entry.
func (c *checker) marks(f *File) []string {
	shard := f.Name.Shard()
	out := []string{keyShard(shard, f.Name)}
	if f.Lost != 0 {
		out = append(out, keyLost(f.Name))
	}
	if f.Hidden != 0 {
		out = append(out, keyHidden(f.Name), keyDue(f.Until, f.Name))
	}
	if !f.Released && f.Source != "" {
		out = append(out, keySource(f.Source, f.Name))
	}
	if due := dueSource(f); due != "" {
		out = append(out, keyRelease(due, f.Name))
	}
	for i := range f.Copies {
		one := &f.Copies[i]
		counted := f.counted(one.Replica)
		if owed(counted) {
			out = append(out, keyOwed(one.Replica, shard, f.Name))
		}
		if disputed(counted) {
			out = append(out, keyDisputed(f.Name, one.Replica))
		}
		if node := surplusAt(one); node != "" {
			out = append(out, keyRelease(node, f.Name))
		}
		if c.level >= 2 && c.needed(f, one) {
			out = append(out, keyNeed(one.Replica, f.Name))
		}
	}
	return out
}

// needed is state.needs, by the kinds that were read.
func (c *checker) needed(f *File, one *Copy) bool {
	s := state{kinds: c.kinds}
	is, err := s.needs(f, one)
	return err == nil && is // nothing is read: there is no error
}

// sums compares roots and totals with what the entries add up to.
func (c *checker) sums() error {
	err := c.each(prefixRoots, func(key string, value []byte) error {
		var is Root
		if err := agree.DecodeValue(key, value, &is); err != nil {
			c.found(key, err.Error())
		} else if want := c.roots[key]; is != want {
			c.found(key, fmt.Sprintf("says %d files of %d bytes, the entries are %d of %d; or other ones",
				is.Files, is.Bytes, want.Files, want.Bytes))
		}
		delete(c.roots, key)
		return nil
	})
	if err != nil {
		return err
	}
	for key, want := range c.roots {
		c.found(key, fmt.Sprintf("is not there, the entries are %d of %d bytes", want.Files, want.Bytes))
	}
	err = c.each(prefixTotals, func(key string, value []byte) error {
		var is Totals
		name := cluster.ReplicaName(key[len(prefixTotals):])
		if err := agree.DecodeValue(key, value, &is); err != nil {
			c.found(key, err.Error())
		} else if want := c.totals[name]; is != want {
			c.found(key, fmt.Sprintf("says %+v, the entries are %+v", is, want))
		}
		delete(c.totals, name)
		return nil
	})
	if err != nil {
		return err
	}
	for name, want := range c.totals {
		if want != (Totals{}) {
			c.found(keyTotals(name), fmt.Sprintf("is not there, the entries are %+v", want))
		}
	}
	return nil
}

// lists checks that every mark follows from an entry.
func (c *checker) lists() error {
	for _, l := range []struct {
		prefix string
		name   func(tail string) string // of the file
	}{
		{prefixShards, behind}, {prefixLost, whole}, {PrefixHidden, whole}, {PrefixDue, behind},
		{prefixSources, behind}, {prefixReleases, behind},
		{prefixOwed, func(tail string) string { return behind(behind(tail)) }}, {prefixNeeds, behind},
		{PrefixDisputed, func(tail string) string { name, _, _ := strings.Cut(tail, "/"); return name }},
	} {
		err := c.each(l.prefix, func(key string, _ []byte) error {
			return c.founded(l.prefix, key, FileName(l.name(key[len(l.prefix):])))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func behind(tail string) string { _, name, _ := strings.Cut(tail, "/"); return name }

func whole(tail string) string { return tail }

// founded checks that the mark follows from the entry of the file. The release of a removed file may be that of a
// partial copy, which is in no entry.
func (c *checker) founded(prefix, key string, name FileName) error {
	value, err := c.Get([]byte(keyFile(name)))
	if err != nil {
		return err
	}
	if value == nil {
		c.found(key, "is there, but no entry of the file")
		return nil
	}
	f, err := decodeFile([]byte(keyFile(name)), value, func() (wordList, error) { return c.list, nil })
	if err != nil || prefix == prefixReleases && f.Removed != 0 {
		return nil // the first was found with the entry
	}
	for _, mark := range c.marks(&f) {
		if mark == key {
			return nil
		}
	}
	c.found(key, "is there, and does not follow from the entry of the file")
	return nil
}
