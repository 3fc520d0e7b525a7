package metadata

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/internal/kv/memory"
	"holdfast/warc"
)

// agreedInMemory is an agreed state.
type agreedInMemory struct{ state *memory.Tx }

func (a agreedInMemory) View(look func(catalog.View) error) error {
	return look(catalog.NewView(a.state))
}

func (a agreedInMemory) put(t *testing.T, key string, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = a.state.Set([]byte(key), append([]byte{agree.ValueVersion}, text...))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLostAttempts: an earlier attempt's file that the archive had and has no more is named; one that never came is not,
// and the present attempt's is no earlier one.
func TestLostAttempts(t *testing.T) {
	t.Parallel()
	a := agreedInMemory{new(memory.Tx)}
	a.put(t, "job/"+agree.Hex(7), catalog.Job{ID: 7, Attempt: 5})
	for n, f := range map[int]catalog.File{1: {}, 2: {Lost: 9}, 4: {Removed: 9}, 5: {}, 6: {Lost: 9}} {
		f.Name = Name(7, n)
		a.put(t, "file/"+string(f.Name), f)
	}
	jobs := Agreed{a}
	lost, err := jobs.Lost(7)
	there, err2 := jobs.Attempts(7)
	if !slices.Equal(lost, []int{2, 4}) || !slices.Equal(there, []int{1, 5}) || errors.Join(err, err2) != nil {
		t.Errorf("lost %v, there %v, %v %v", lost, there, err, err2)
	}
	if lost, err := jobs.Lost(8); len(lost) != 0 || err != nil {
		t.Errorf("a job that does not exist: %v %v", lost, err)
	}
}

// TestRecordsOfALostAttempt are not passed over in silence: those that are known are copied, and the file that named the
// others is named.
func TestRecordsOfALostAttempt(t *testing.T) {
	t.Parallel()
	s, f := newShop(t)
	at := s.put("7-1.warc.gz", warc.Draft{Type: warc.TypeResource, TargetURI: "http://a.test/", ContentType: "text/plain",
		Block: strings.NewReader("first"), Size: 5})
	s.metadata(7, 2, [2]string{CDXPath, "http://a.test/ - 20260304050607 text/plain 1 7-1.warc.gz " + itoa(at[0].Offset) + "\n"})
	e := extractor(t, s, f)
	if _, all, err := extract(t, e, Selection{}); err != nil || all["http://a.test/"] != "first" || all[UnreadURI] != "" {
		t.Fatalf("%v %v", all, err)
	}
	s.lost = []int{1}
	_, all, err := extract(t, e, Selection{})
	if !errors.Is(err, ErrUnread) || all["http://a.test/"] != "first" ||
		!strings.Contains(all[UnreadURI], "unread: 7-metadata-1.warc.gz 0 -: ") ||
		!strings.HasSuffix(all[UnreadURI], "unread-count: 1\r\n") {
		t.Errorf("%v %v", all, err)
	}
}
