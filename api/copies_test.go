package api

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/files"
)

// TestCopiesAreListedByWhatIsWrong puts files, of which one copy is verified and then found corrupt, and lists the copies.
func TestCopiesAreListedByWhatIsWrong(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleReader).Files()
	b.holdAll()
	for i := range 3 {
		name := fmt.Sprintf("f%d", i)
		sum := catalog.Digest(sha256.Sum256([]byte(name)))
		b.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: catalog.FileName(name), Size: 2, SHA256: sum, Collection: "web", Source: self}}})
		if i < 2 {
			b.must(catalog.ReportCopies, catalog.CopyReports{Node: self, Copies: []catalog.CopyReport{{Name: catalog.FileName(name), State: catalog.UploadCompleted, SHA256: sum}}})
		}
	}
	b.must(catalog.FindCopies, catalog.Findings{Node: self, Files: []catalog.Finding{{Name: "f1", FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: catalog.Digest{1}}}})
	for _, tt := range []struct{ state, replica, want string }{
		{"owed", "", "f0/third f1/third f2/north f2/third"}, {"owed", "north", "f2/north"}, {"owed", "nowhere", ""},
		{"disputed", "", "f1/north"}, {"disputed", "third", ""}, {"corrupt", "", "f1/north"}, {"corrupt", "north", "f1/north"}, {"missing", "", ""},
	} {
		var got []string
		for one, err := range c.Copies(t.Context(), tt.state, tt.replica) {
			if err != nil || one.Size != 2 || one.Collection != "web" {
				t.Fatal(err, one)
			}
			got = append(got, one.File+"/"+one.Replica)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s in %q: %v, want %s", tt.state, tt.replica, got, tt.want)
		}
	}
	reader := as(catalog.RoleReader)
	for query, want := range map[string]int{"": 422, "?state=": 422, "?state=odd": 422, "?state=owed&after=f-eA": 400, "?state=owed&after=k-eA": 200, "?state=corrupt&after=k-": 200, "?state=owed&limit=0": 422} {
		code, text := b.ask(b.request(reader, http.MethodGet, "/copies"+query, ""))
		if want == 400 && code == http.StatusUnprocessableEntity {
			code = 400
		}
		if code != want || query == "?state=owed&after=k-eA" && !strings.Contains(text, `"total":4`) {
			t.Errorf("%s: %d %s", query, code, text)
		}
	}
}

// TestChecksOfAReplica shows what is missing and changed, and when what was checked last, without a check. Of what was
// never checked, and of what another holder checked, nothing is said to be known.
func TestChecksOfAReplica(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleReader).Replicas()
	b.holdAll()
	shards := map[catalog.Shard]bool{}
	for i := range 4 {
		name := catalog.FileName(fmt.Sprintf("f%d", i))
		shards[name.Shard()] = true
		sum := catalog.Digest(sha256.Sum256([]byte(name)))
		b.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: 2, SHA256: sum, Collection: "web", Source: self}}})
		b.must(catalog.ReportCopies, catalog.CopyReports{Node: self, Copies: []catalog.CopyReport{{Name: name, State: catalog.UploadCompleted, SHA256: sum}}})
	}
	show := func() (out map[string]wire.ReplicaCheck, all wire.ReplicaChecks) {
		t.Helper()
		all, err := c.Checks(t.Context(), "north")
		if err != nil {
			t.Fatal(err)
		}
		out = map[string]wire.ReplicaCheck{}
		for _, k := range all.Checks {
			out[k.Kind] = k
		}
		return out, all
	}
	n := int64(len(shards))
	got, all := show()
	if got["checksum"].Never != n || got["presence"].Never != 1 || got["challenge"].Never != 1 || all.Missing+all.Changed != 0 || all.Files != 4 ||
		!got["checksum"].Oldest.IsZero() {
		t.Errorf("before any check: %+v", all)
	}
	b.must(catalog.FindCopies, catalog.Findings{Node: self, Files: []catalog.Finding{
		{Name: "f1", FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: catalog.Digest{1}},
		{Name: "f2", FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown},
		{Name: "f3", FileList: catalog.FileListMissing, Checksum: catalog.ChecksumUnknown}}})
	b.must(catalog.PassShard, catalog.ShardPass{Replica: "north", Node: self, Shard: catalog.FileName("f0").Shard(), Exceptions: 1})
	b.must(agreed.NoteCheck, agreed.Check{Node: self, Replica: "north", Kind: "presence", Findings: 2, Missed: 3})
	got, all = show()
	if all.Missing != 2 || all.Changed != 1 || all.Partly {
		t.Errorf("found: %+v", all)
	}
	if k := got["checksum"]; k.Checked != 1 || k.Never != n-1 || k.Findings != 1 {
		t.Errorf("a shard was read: %+v", k)
	}
	if k := got["presence"]; k.Checked != 1 || k.Never != 0 || k.Findings != 2 || k.Missed != 3 {
		t.Errorf("presence: %+v", k)
	}
	every, err := c.AllChecks(t.Context())
	if err != nil || len(every) < 2 {
		t.Fatalf("every replica: %+v %v", every, err)
	}
	for _, one := range every {
		if alone, err := c.Checks(t.Context(), one.Name); err != nil || !reflect.DeepEqual(one, alone) || one.Name == "north" && !reflect.DeepEqual(one, all) {
			t.Errorf("%+v alone is %+v %v", one, alone, err)
		}
	}
	if _, err := c.Checks(t.Context(), "nowhere"); status(err) != http.StatusNotFound {
		t.Errorf("no replica: %v", err)
	}
}
