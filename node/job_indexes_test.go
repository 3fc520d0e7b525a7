package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast/api"
	"holdfast/api/wire"
	"holdfast/node/archive"
	"holdfast/warc"
)

// indexOf returns the lines of an index of jobs, of which there is none of job 99.
func indexOf(t *testing.T, n running, kind wire.JobIndexKind, jobs ...uint64) []string {
	t.Helper()
	index, of, err := n.jobIndexes.Open(t.Context(), kind, append([]uint64{99}, jobs...))
	if err != nil || !slices.Equal(of.Jobs, jobs) || len(of.Incomplete) > 0 {
		t.Fatalf("%s of %v: of %+v, %v", kind, jobs, of, err)
	}
	defer func() { _ = index.Close() }()
	var text bytes.Buffer
	if _, err := index.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// checkIndexes asks for the indexes of three jobs, of which the first stored a picture and the others found it again.
// Where a line says that something is, it is.
func checkIndexes(t *testing.T, n running, picture string) {
	t.Helper()
	found := 0
	for _, line := range indexOf(t, n, wire.JobIndexCDX, 1, 2, 3) {
		cols := strings.Split(line, " ")
		if len(cols) != 7 {
			t.Fatalf("%q is no line of a CDX", line)
		}
		if url := recordAt(t, n, cols[5], cols[6]).TargetURI(); url != cols[0] {
			t.Errorf("%s: the record is of %s", line, url)
		}
		if cols[0] == picture {
			found++
		}
	}
	if found != 3 {
		t.Errorf("the CDX of three jobs has the picture %d times", found)
	}
	found = 0
	all := indexOf(t, n, wire.JobIndexFull, 1, 2, 3)
	if !slices.IsSorted(all) {
		t.Error("the full index is not in order")
	}
	for _, line := range all {
		var of map[string]string
		if err := json.Unmarshal([]byte(line[strings.IndexByte(line, '{'):]), &of); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if of["filename"] == "" {
			if status, err := strconv.Atoi(of["status"]); err != nil || status > 0 {
				t.Errorf("%s: without a record", line)
			}
			continue
		}
		if url := recordAt(t, n, of["filename"], of["offset"]).TargetURI(); url != of["url"] {
			t.Errorf("%s: the record is of %s", line, url)
		}
		if of["url"] != picture {
			continue
		}
		found++
		own := recordAt(t, n, of["filename"], of["offset"])
		if own.Type != warc.TypeResponse || !strings.HasPrefix(of["filename"], "1-1-") {
			t.Errorf("%s: not where the picture is stored", line)
		}
		if again := of["job"] != "1"; again != strings.HasPrefix(of["revisit_filename"], of["job"]+"-1-") {
			t.Errorf("%s: not what job %s recorded", line, of["job"])
		}
	}
	if found != 3 {
		t.Errorf("the full index of three jobs has the picture %d times", found)
	}
	documents := indexOf(t, n, wire.JobIndexDocuments, 1, 2, 3)
	if !strings.Contains(strings.Join(documents, "\n"), fmt.Sprintf(`{"url":%q,`, picture)) {
		t.Errorf("no document %s: %s", picture, documents)
	}
}

// checkRecords copies the picture out of each job's files.
func checkRecords(t *testing.T, n running, picture string) {
	t.Helper()
	for job, want := range map[uint64]string{1: warc.TypeResponse, 2: warc.TypeRevisit, 3: warc.TypeRevisit} {
		found, err := n.jobIndexes.Records(t.Context(), job, nil, regexp.MustCompile("^image/png$"), nil)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := found.WriteTo(&text); err != nil {
			t.Error(err)
		}
		if err := found.Close(); err != nil {
			t.Error(err)
		}
		records, err := warc.NewReader(&text, "x.warc.gz")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for {
			rec, err := records.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, rec.Type+" "+rec.TargetURI())
		}
		if len(all) != 2 || all[1] != want+" "+picture {
			t.Errorf("job %d has %q", job, all)
		}
	}
	if _, err := n.jobIndexes.Records(t.Context(), 99, nil, nil, nil); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("records of no job: %v", err)
	}
}

// recordAt opens a record of the archive. Its block cannot be read.
func recordAt(t *testing.T, n running, file, offset string) *warc.Record {
	t.Helper()
	at, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	body, err := archive.Records{Replica: n.replica}.Open(t.Context(), file, at, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	records, err := warc.NewReader(body, file)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := records.Next()
	if err != nil {
		t.Fatal(err)
	}
	return rec
}
