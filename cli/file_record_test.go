package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"holdfast/warc"
)

// full is a disk without room.
type full struct{}

func (full) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return 0, syscall.ENOSPC
}

// A record of an ARC file is printed as one of WARC, under an id that is its own.
func TestARecordOfAnARCFile(t *testing.T) {
	t.Parallel()
	version := "1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
	http := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>hello"
	file := fmt.Sprintf("filedesc://x.arc 0.0.0.0 20140216050221 text/plain %d\n%s\n", len(version), version)
	first, second := len(file), 0
	for range 2 {
		second = len(file)
		file += fmt.Sprintf("http://example.com/ 192.0.2.1 20140216050222 text/html %d\n%s\n", len(http), http)
	}
	ids := map[string]bool{}
	for _, offset := range []int{first, second, first} {
		record, err := warc.ReadAt(strings.NewReader(file), "x.arc", int64(offset), 0)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := writeRecord(&b, record, false, false, false); err != nil {
			t.Fatal(err)
		}
		r, err := warc.NewReader(strings.NewReader(b.String()+"\r\n\r\n"), "x.warc")
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.Next()
		if err != nil || again.Version != "1.1" || again.Type != warc.TypeResponse || again.TargetURI() != "http://example.com/" {
			t.Fatalf("%v\n%s", err, b.String())
		}
		ids[again.Header.Get("WARC-Record-ID")] = true
	}
	if len(ids) != 2 || ids[""] {
		t.Errorf("ids of two records: %v", ids)
	}
}

// A record whose header cannot be written is not printed, also when it has no block.
func TestARecordThatCannotBeWrittenIsNotPrinted(t *testing.T) {
	t.Parallel()
	const text = "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:uuid:12345678-1234-1234-1234-123456789012>\r\n" +
		"WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
	record, err := warc.ReadAt(strings.NewReader(text), "a.warc", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeRecord(full{}, record, false, false, false); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
}
