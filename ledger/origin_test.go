package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"holdfast/ledger"
)

// Lists say where files come from; those from before they did are read, too; and a file of which more is known now
// than then has not changed.
func TestOrigins(t *testing.T) {
	was := ledger.Entry{Name: "a.warc", Size: 3, SHA256: sha256.Sum256([]byte("abc"))}
	now := was
	now.Origin = ledger.Origin{Added: time.Date(2026, 11, 24, 3, 0, 0, 5e6, time.UTC).UnixMilli(), Collection: "art", Job: 12, Attempt: 1}
	shard := ledger.ShardOf(was.Name)
	for _, one := range []ledger.Entry{was, now} {
		var text bytes.Buffer
		w := ledger.NewListWriter("list", &text)
		if err := w.Write(ledger.Changes{Shard: shard, Came: []ledger.Entry{one}}); err != nil {
			t.Fatal(err)
		}
		sum, err := w.Close()
		if err != nil {
			t.Fatal(err)
		}
		if one == now && !strings.Contains(text.String(), "# size 3 2026-11-24T03:00:00.005Z art 12 1  a.warc\n") {
			t.Error(text.String())
		}
		got, err := entriesOf(text.String(), sum)
		if err != nil || len(got) != 1 || got[0] != one {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if c := ledger.Compare(shard, []ledger.Entry{was}, []ledger.Entry{now}); len(c.Came)+len(c.Gone) > 0 {
		t.Errorf("%+v", c)
	}
	for _, bad := range []string{"3 2026-11-24T03:00:00.005Z art 12", "3 yesterday art 12 1", "3 2026-11-24T03:00:00.005Z a/b 12 1",
		"3 2026-11-24T03:00:00.005Z art -1 1", "3 2026-11-24T03:00:00.005Z art 1 x"} {
		text := fmt.Sprintf("# holdfast-ledger-list 1\n# name list\n# shard %s\n# size %s  a.warc\n%s  a.warc\n# end 1\n", ledger.ShardName(shard),
			bad, was.SHA256)
		if got, err := entriesOf(text, sha256.Sum256([]byte(text))); err == nil {
			t.Errorf("%s: %+v", bad, got)
		}
	}
}

// entriesOf reads all entries of a list of one.
func entriesOf(text string, sum ledger.Digest) (out []ledger.Entry, err error) {
	c, err := ledger.OpenChain([]ledger.List{{File: ledger.File{Name: "list", SHA256: sum}, Lines: 1}},
		func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
	for shard := 0; err == nil && shard < ledger.Shards; shard++ {
		var some []ledger.Entry
		some, _, err = c.Shard(shard)
		out = append(out, some...)
	}
	if err == nil {
		err = c.Close()
	}
	return out, err
}
