package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"holdfast/catalog"
)

// wired is a carrier to the only other node there is.
type wired struct{ to Answers }

func (w wired) Open(ctx context.Context, _ catalog.NodeID, kind string) (net.Conn, error) {
	if kind != FileStream {
		return nil, errDown
	}
	here, there := net.Pipe()
	go w.to.File(ctx, "asker", there)
	return here, nil
}

func (w wired) Call(ctx context.Context, _ catalog.NodeID, kind string, request []byte) ([]byte, error) {
	var name catalog.FileName
	if err := json.Unmarshal(request, &name); err != nil {
		return nil, err
	}
	var held Held
	err := errDown
	switch kind {
	case ChecksumCall:
		held, err = w.to.Checksum(ctx, "asker", name)
	case VerifyCall:
		held, err = w.to.Verify(ctx, "asker", name)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(held)
}

type nobodyDoubted struct{}

func (nobodyDoubted) Has(catalog.NodeID) bool { return false }
func (nobodyDoubted) Add(catalog.NodeID)      {}
func (nobodyDoubted) Clear(catalog.NodeID)    {}

// TestOneReplicaAsksAnother lets a node ask another for bytes and checksums over a carrier. What the other refuses arrives
// as what it is.
func TestOneReplicaAsksAnother(t *testing.T) {
	t.Parallel()
	north := newCluster(t, "north-1").node("north-1")
	b := north.put("a.warc", 1, 1000)
	ctx := t.Context()
	r := Remote{Self: "asker", Carrier: wired{Answers{Replica: north.r, Name: "north-1"}}, Doubts: nobodyDoubted{}}
	read := func(in io.ReadCloser, err error) (string, error) {
		if err != nil {
			return "", err
		}
		defer func() { _ = in.Close() }()
		text, err := io.ReadAll(in)
		return string(text), err
	}
	if got, err := read(r.Fetch(ctx, "n", "a.warc", 990)); err != nil || got != string(b[990:]) {
		t.Errorf("the end of a file: %q, %v", got, err)
	}
	if got, err := read(r.Read(ctx, "n", "a.warc", 5, 7)); err != nil || got != string(b[5:12]) {
		t.Errorf("a range: %q, %v", got, err)
	}
	if got, err := read(r.Read(ctx, "n", "a.warc", 5, 0)); err != nil || got != "" {
		t.Errorf("nothing: %q, %v", got, err)
	}
	if _, err := read(r.Read(ctx, "n", "a.warc", 999, 2)); !errors.Is(err, ErrRange) {
		t.Errorf("a range outside of the file: %v", err)
	}
	if _, err := read(r.Fetch(ctx, "n", "none.warc", 0)); !errors.Is(err, ErrNotHere) {
		t.Errorf("a file that is not there: %v", err)
	}
	if held, err := r.Checksum(ctx, "n", "a.warc"); err != nil || held != heldOf("a.warc", b) {
		t.Errorf("a checksum: %+v, %v", held, err)
	}
	if _, err := r.Checksum(ctx, "n", "none.warc"); !errors.Is(err, ErrNotHere) {
		t.Errorf("the checksum of a file that is not there: %v", err)
	}
	for range cap(north.r.bulk) {
		north.r.bulk <- struct{}{}
	}
	if _, err := read(r.Fetch(ctx, "n", "a.warc", 0)); !errors.Is(err, ErrBusy) {
		t.Errorf("one copy more than it gives: %v", err)
	}
}

// TestWordsStayAsTheyAre compares messages with what nodes of earlier versions send and read.
func TestWordsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for want, message := range map[string]any{
		`{"name":"a","offset":5,"length":-1}`:              fileRequest{Name: "a", Offset: 5, Length: -1},
		`{"name":"a","offset":0,"length":7,"reader":true}`: fileRequest{Name: "a", Length: 7, Reader: true},
		`{"act":"list"}`:                                                      AuditRequest{Act: "list"},
		`{"act":"start","id":"x","nodes":["n"]}`:                              AuditRequest{Act: "start", ID: "x", Nodes: []catalog.NodeID{"n"}},
		`{"strays":null,"files":2,"bytes":30}`:                                StrayReport{Files: 2, Bytes: 30},
		`["file","file.checksum","file.verify","file.find","audit","strays"]`: []string{FileStream, ChecksumCall, VerifyCall, FindCall, AuditCall, StraysCall},
		`"busy not-here"`:                                                     reasonBusy + " " + reasonNotHere,
		fmt.Sprintf("[%d,%d,%d,%d,%d]", 0, 1, 2, 3, 4):                        []int{int(fileFollows), int(fileBusy), int(fileNotHere), int(fileRange), int(fileFailed)},
	} {
		if got, err := json.Marshal(message); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}
