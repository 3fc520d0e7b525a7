package policy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"

	"holdfast/access"
	"holdfast/catalog"
)

// warcFile is a file of one record with that URL and date.
func warcFile(url, date string) []byte {
	return fmt.Appendf(nil, "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:1>\r\n%s%s"+
		"Content-Type: text/plain\r\nContent-Length: 6\r\n\r\nsecret\r\n\r\n", url, date)
}

// TestWhatARecordIsAboutMustBeKnown: a file with a record whose URL or date cannot be read is for those alone who keep
// the machines, since no rule that is about a URL, or a time, can close it.
func TestWhatARecordIsAboutMustBeKnown(t *testing.T) {
	t.Parallel()
	const url, date = "WARC-Target-URI: http://closed.example/\r\n", "WARC-Date: 2020-05-01T00:00:00Z\r\n"
	p := access.Policy{Rules: []access.Rule{{Prefix: "example,closed", From: "2020", Access: access.Exclude}}}.Compile()
	reader, operator := p.For(access.Who{Role: access.Reader}), p.For(access.Who{Role: access.Operator})
	for name, tt := range map[string]struct {
		url, date string
		reader    bool // may have it
		operator  bool
	}{
		"closed":       {url, date, false, false},
		"open":         {"WARC-Target-URI: http://open.example/\r\n", date, true, true},
		"before":       {url, "WARC-Date: 2019-05-01T00:00:00Z\r\n", true, true},
		"bad date":     {url, "WARC-Date: May 2020\r\n", false, true},
		"no date":      {url, "", false, true},
		"bad URL":      {"WARC-Target-URI: http://closed.example:99999/\r\n", date, false, true},
		"escaped host": {"WARC-Target-URI: http://%63losed.example/\r\n", date, false, false},
		"no URL":       {"", date, false, true},
	} {
		text := warcFile(tt.url, tt.date)
		c := NewContents(func(context.Context, catalog.FileName, int64, int64) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(text)), nil
		})
		file := catalog.File{Name: "a.warc", Size: int64(len(text)), SHA256: catalog.Digest(sha256.Sum256(text))}
		for who, may := range map[*access.Sight]bool{reader: tt.reader, operator: tt.operator} {
			why, err := c.Closed(t.Context(), file, who)
			if err != nil || (why == "") != may {
				t.Errorf("%s: operator %t is told %q, %v; want that he may have it: %t", name, who == operator, why, err, may)
			}
			if strings.Contains(why, "http") {
				t.Errorf("%s: the reason names a URL: %s", name, why)
			}
		}
	}
}
