package files

import (
	"testing"

	"holdfast/catalog/agree"
)

// FuzzCompact reads bytes as a compact entry: what is accepted is written to the same bytes again, whatever else is
// refused.
func FuzzCompact(f *testing.F) {
	words := wordList{texts: []string{"web", "north-node", "north"}}
	file := File{Name: "a.warc", Size: 1 << 40, Collection: "web", Source: "north-node", Released: true, Added: 1000,
		Version: 3, Copies: []Copy{{Replica: "north", State: UploadCompleted, Node: "north-node", Since: 900,
			FileList: FileListOK, Checksum: ChecksumOK}}}
	whole := appendCompact([]byte{agree.ValueVersion, compactForm}, &file, []uint64{0, 1, 2, 1})
	for n := range whole {
		f.Add(whole[:n])
	}
	f.Add(whole)
	f.Add(append(whole, 0))
	f.Fuzz(func(t *testing.T, value []byte) {
		got, err := decodeFile([]byte(keyFile("a.warc")), value, func() (wordList, error) { return words, nil })
		if err != nil || len(value) < 2 || value[1] != compactForm {
			return
		}
		if !got.isPlain() {
			return // numbers that no program writes
		}
		var numbers []uint64
		for i, text := range words.texts {
			if words.numbers == nil {
				words.numbers = map[string]uint64{}
			}
			words.numbers[text] = uint64(i)
		}
		numbers = append(numbers, words.numbers[string(got.Collection)], words.numbers[string(got.Source)])
		for i := range got.Copies {
			numbers = append(numbers, words.numbers[string(got.Copies[i].Replica)], words.numbers[string(got.Copies[i].Node)])
		}
		again, err := decodeFile([]byte(keyFile("a.warc")), appendCompact([]byte{agree.ValueVersion, compactForm}, &got,
			numbers), func() (wordList, error) { return words, nil })
		if err != nil || again.Version != got.Version || again.Added != got.Added || len(again.Copies) != len(got.Copies) {
			t.Fatalf("%+v is read again as %+v, %v", got, again, err)
		}
		for i := range got.Copies {
			if got.Copies[i] != again.Copies[i] {
				t.Fatalf("copy %+v is read again as %+v", got.Copies[i], again.Copies[i])
			}
		}
	})
}
