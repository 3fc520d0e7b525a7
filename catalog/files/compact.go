package files

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// LevelOfCompact is the level from which the entries of files that are complete are stored in a compact form: nearly
// all of an archive's files are, and each is stored on every node.
const LevelOfCompact = 5

// compactForm is the byte behind the version of a compact value, where others have JSON. Numbers follow, each as a
// uvarint: collection, source, size, added, job, attempt, version; 32 bytes of SHA-256; the number of copies; and of
// each copy: replica, node, since (less added, zigzag), findings. Collection, source, replica and node are numbers of
// words. The file's name is in the key.
const compactForm = 2

// findings are the words for what audits found, in the order of their numbers: a copy's findings are four times the
// number of the file list, plus the checksum's.
func findings() (lists []FileListStatus, sums []ChecksumStatus) {
	return []FileListStatus{"", NoFileListStatus, FileListOK, FileListMissing},
		[]ChecksumStatus{"", ChecksumUnknown, ChecksumOK, ChecksumCorrupt}
}

// isPlain reports whether the entry says no more than the compact form can.
func (f *File) isPlain() bool {
	if !f.Released || !f.counts() || f.Hidden != 0 || f.Until != 0 || f.RemovedBy != "" ||
		f.Reason != "" || f.LostWhy != "" || len(f.Copies) == 0 || f.Size < 0 ||
		f.Added < 0 || f.Attempt < 0 {
		return false
	}
	lists, sums := findings()
	for i := range f.Copies {
		c := &f.Copies[i]
		if !c.Good() || c.Surplus || !c.Found.IsZero() || c.Reason != "" || c.Tries != 0 ||
			!slices.Contains(lists, c.FileList) || !slices.Contains(sums, c.Checksum) {
			return false
		}
	}
	return true
}

// putEntry stores the entry, compact where that says all of it.
func (s *state) putEntry(f *File) error {
	if s.Cluster.Level < LevelOfCompact || !f.isPlain() {
		return s.Set(keyFile(f.Name), f)
	}
	texts := []string{string(f.Collection), string(f.Source)}
	for i := range f.Copies {
		texts = append(texts, string(f.Copies[i].Replica), string(f.Copies[i].Node))
	}
	if !s.Room(len(texts)) { // if they were all new words
		return s.Set(keyFile(f.Name), f)
	}
	numbers := make([]uint64, len(texts))
	for i, text := range texts {
		var err error
		if numbers[i], err = s.number(text); err != nil {
			return err
		}
	}
	s.Put(keyFile(f.Name), appendCompact([]byte{agree.ValueVersion, compactForm}, f, numbers))
	return nil
}

func appendCompact(out []byte, f *File, words []uint64) []byte {
	for _, n := range []uint64{words[0], words[1], uint64(f.Size), uint64(f.Added), f.Job, uint64(f.Attempt),
		f.Version} {
		out = binary.AppendUvarint(out, n)
	}
	out = append(out, f.SHA256[:]...)
	out = binary.AppendUvarint(out, uint64(len(f.Copies)))
	lists, sums := findings()
	for i := range f.Copies {
		c := &f.Copies[i]
		out = binary.AppendUvarint(out, words[2+2*i])
		out = binary.AppendUvarint(out, words[3+2*i])
		out = binary.AppendVarint(out, int64(c.Since-f.Added))
		out = append(out, byte(slices.Index(lists, c.FileList)<<2|slices.Index(sums, c.Checksum)))
	}
	return out
}

// decodeFile reads the stored entry of a file, in either form. The words are asked for where they are needed.
func decodeFile(key, value []byte, wordsOf func() (wordList, error)) (File, error) {
	var f File
	if len(value) < 2 || value[0] != agree.ValueVersion || value[1] != compactForm {
		err := agree.DecodeValue(key, value, &f)
		return f, err
	}
	words, err := wordsOf()
	if err != nil {
		return f, err
	}
	c := compact{rest: value[2:], words: words.texts}
	f = File{Name: FileName(key[len(PrefixFiles):]), Released: true}
	f.Collection, f.Source = cluster.CollectionName(c.word()), agree.NodeID(c.word())
	f.Size, f.Added, f.Job, f.Attempt = int64(c.number()), agree.Time(c.number()), c.number(), int(c.number())
	f.Version = c.number()
	copy(f.SHA256[:], c.bytes(len(f.SHA256)))
	copies := c.number()
	if copies > uint64(len(c.rest)) {
		c.bad, copies = true, 0
	}
	f.Copies = make([]Copy, copies)
	lists, sums := findings()
	for i := range f.Copies {
		one := &f.Copies[i]
		one.Replica, one.Node = cluster.ReplicaName(c.word()), agree.NodeID(c.word())
		one.State, one.Since = UploadCompleted, f.Added+agree.Time(c.signed())
		found := c.bytes(1)[0]
		if found >= 16 {
			c.bad, found = true, 0
		}
		one.FileList, one.Checksum = lists[found>>2], sums[found&3]
	}
	if c.bad || len(c.rest) > 0 {
		return f, fmt.Errorf("catalog key %q: its value of %d bytes is no compact entry of a file", key, len(value))
	}
	return f, nil
}

// compact reads a compact value. Once something is not as expected it stays bad.
type compact struct {
	rest  []byte
	words []string
	bad   bool
}

func (c *compact) number() uint64 {
	n, size := binary.Uvarint(c.rest)
	if size <= 0 {
		c.bad, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

func (c *compact) signed() int64 {
	n, size := binary.Varint(c.rest)
	if size <= 0 {
		c.bad, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

func (c *compact) bytes(n int) []byte {
	if len(c.rest) < n {
		c.bad, c.rest = true, nil
		return make([]byte, n)
	}
	out := c.rest[:n]
	c.rest = c.rest[n:]
	return out
}

func (c *compact) word() string {
	n := c.number()
	if n >= uint64(len(c.words)) {
		c.bad = true
		return ""
	}
	return c.words[n]
}

// wordList is all words in the order of their numbers: names of collections and replicas, and ids of nodes, that
// compact entries have. A word is never changed or removed.
type wordList struct {
	texts   []string
	numbers map[string]uint64
}

func (r records) words() (wordList, error) {
	return agree.Remember(r.Reader, prefixWords, func() (wordList, error) {
		all, err := agree.List[string](r.Reader, prefixWords, "", 0)
		list := wordList{texts: all, numbers: make(map[string]uint64, len(all))}
		for n, text := range all {
			list.numbers[text] = uint64(n)
		}
		return list, err
	})
}

// number returns the word's number, a new one if it has none yet.
func (s *state) number(text string) (uint64, error) {
	list, err := s.words()
	if err != nil {
		return 0, err
	}
	if n, there := list.numbers[text]; there {
		return n, nil
	}
	n := uint64(len(list.texts))
	value, err := json.Marshal(text)
	if err != nil {
		return 0, err
	}
	s.Put(keyWord(n), append([]byte{agree.ValueVersion}, value...))
	return n, nil
}
