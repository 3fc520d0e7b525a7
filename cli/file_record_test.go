package cli

import (
	"errors"
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
