package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
)

func upload1(name string, text []byte) client.Upload {
	sum := sha256.Sum256(text)
	return client.Upload{Name: name, Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:]),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }}
}

func TestAFileGoesInAndComesOut(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	text := bytes.Repeat([]byte("all that is written is kept. "), 100_000)
	f, err := c.Files().Put(t.Context(), upload1("a.warc.gz", text))
	if err != nil || f.Size != int64(len(text)) || len(f.Copies) != 2 || f.Complete {
		t.Fatalf("%v %+v", err, f)
	}
	var out bytes.Buffer
	content, err := c.Files().Get(t.Context(), "a.warc.gz", 0, &out)
	if err != nil || !bytes.Equal(out.Bytes(), text) || content.Size != f.Size || content.SHA256 != f.SHA256 {
		t.Errorf("%v %d bytes", err, out.Len())
	}
	out.Reset()
	if content, err = c.Files().Get(t.Context(), "a.warc.gz", 1000, &out); err != nil || !bytes.Equal(out.Bytes(), text[1000:]) || content.Size != f.Size {
		t.Errorf("%v %d bytes", err, out.Len())
	}
	if _, err = c.Files().Put(t.Context(), upload1("a.warc.gz", text)); err != nil || b.puts != 2 {
		t.Errorf("the same again, before any copy was verified: %v, %d puts", err, b.puts)
	}
	if _, err = c.Files().Put(t.Context(), upload1("a.warc.gz", []byte("other"))); status(err) != http.StatusConflict {
		t.Errorf("other content: %v", err)
	}
	for file, err := range c.Files().List(t.Context(), "a.") {
		if err != nil || file.Name != "a.warc.gz" {
			t.Errorf("%v %+v", err, file)
		}
	}
	if found, err := as(catalog.RoleOperator).Files().Verify(t.Context(), "a.warc.gz"); err != nil || len(found) != 1 {
		t.Errorf("%v %v", err, found)
	}
}

// TestAPutIntoACollectionThatNobodyHolds is refused before its body is read, also when checksums of it would be kept.
func TestAPutIntoACollectionThatNobodyHolds(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	b.must(catalog.SetCollection, catalog.Collection{Name: "radio"})
	var replicas []catalog.Replica
	if err := b.View(func(v catalog.View) (err error) { replicas, err = v.Replicas(); return err }); err != nil {
		t.Fatal(err)
	}
	for _, r := range replicas {
		if r.Kind == catalog.Bitarchive {
			r.Collections = []catalog.CollectionName{"web"}
			b.must(catalog.SetReplica, r)
		}
	}
	up := upload1("a.warc.gz", []byte("text"))
	up.Collection = "radio"
	if _, err := as(catalog.RoleCurator).Files().Put(t.Context(), up); status(err) != http.StatusConflict || b.puts != 0 {
		t.Errorf("%v, %d bodies were read", err, b.puts)
	}
	up.Collection = "web"
	if _, err := as(catalog.RoleCurator).Files().Put(t.Context(), up); err != nil {
		t.Errorf("a collection that is held: %v", err)
	}
}

// TestAPutIsReadUnlessAVerifiedCopyStands puts a file again, whose bytes are nowhere, disputed, at a node that does not
// answer, at one that has not compared its copies since a recovery, and verified. Only the last may be answered without a look at the body.
func TestAPutIsReadUnlessAVerifiedCopyStands(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	b.holdAll()
	text := []byte("the only bytes that are left")
	up := upload1("a.warc.gz", text)
	name := catalog.FileName(up.Name)
	sum := catalog.Digest(sha256.Sum256(text))
	b.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: up.Size, SHA256: sum, Collection: "web", Source: self}}})
	put := func(what string, reads int) {
		t.Helper()
		before := b.puts
		f, err := c.Files().Put(t.Context(), up)
		if err != nil || f.SHA256 != up.SHA256 || b.puts-before != reads {
			t.Errorf("%s: %v, the body was read %d times", what, err, b.puts-before)
		}
	}
	put("known, and nowhere", 1)
	report := catalog.CopyReports{Node: self, Copies: []catalog.CopyReport{{Name: name, State: catalog.UploadCompleted, SHA256: sum}}}
	b.must(catalog.ReportCopies, report)
	put("verified", 0)
	b.absent = true
	put("verified at a node that does not answer", 1)
	b.absent = false
	b.must(catalog.RaiseEpoch, catalog.EpochChange{Epoch: 7, Reason: "test"})
	put("verified, as a recovered catalog has it", 1)
	verified := func() bool {
		f, err := c.Files().Show(t.Context(), string(name))
		if err != nil || len(f.Copies) == 0 {
			t.Fatal(err)
		}
		return slices.ContainsFunc(f.Copies, func(c wire.Copy) bool { return c.Replica == "north" && !c.Verified.IsZero() })
	}
	if verified() {
		t.Error("a copy is shown as verified that its node has not compared since the recovery")
	}
	b.must(catalog.ProveHolding, catalog.Proof{Node: self, Epoch: 7})
	if !verified() {
		t.Error("a verified copy is not shown as such")
	}
	put("verified, and compared", 0)
	finding := catalog.Finding{Name: name, FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: catalog.Digest{1}}
	b.lags = func() {
		b.lags = nil
		b.must(catalog.FindCopies, catalog.Findings{Node: self, Files: []catalog.Finding{finding}})
	}
	put("disputed, which is news here", 1)
}

// TestStraysAreListedForOperators asks for the bytes that the archive does not count on; a node that did not answer is named.
func TestStraysAreListedForOperators(t *testing.T) {
	_, as := testCluster(t)
	if disks, err := as(catalog.RoleReader).Disks().Show(t.Context()); err != nil || disks.Disks[0].Path != "/disk1" {
		t.Errorf("disks: %+v, %v", disks, err)
	}
	for _, tt := range []struct {
		role   catalog.Role
		wish   wire.DiskWish
		status int
	}{
		{catalog.RoleOperator, wire.DiskWish{Wish: "drain", Path: "/disk1"}, 0}, {catalog.RoleCurator, wire.DiskWish{Wish: "drain", Path: "/disk1"}, http.StatusForbidden},
		{catalog.RoleOperator, wire.DiskWish{Wish: "drain", Path: "/disk2"}, http.StatusNotFound}, {catalog.RoleOperator, wire.DiskWish{Wish: "pause"}, 0},
		{catalog.RoleOperator, wire.DiskWish{Wish: "drain"}, http.StatusConflict}, {catalog.RoleOperator, wire.DiskWish{Wish: "pause", Path: "/disk1"}, http.StatusConflict},
		{catalog.RoleOperator, wire.DiskWish{Wish: "format"}, http.StatusUnprocessableEntity},
		{catalog.RoleOperator, wire.DiskWish{Wish: "add", Path: "/disk1"}, 0}, {catalog.RoleOperator, wire.DiskWish{Wish: "add"}, http.StatusConflict},
		{catalog.RoleCurator, wire.DiskWish{Wish: "replace", Path: "/disk1", By: "/disk3"}, http.StatusForbidden},
		{catalog.RoleOperator, wire.DiskWish{Wish: "replace", Path: "/disk2", By: "/disk3"}, http.StatusNotFound},
		{catalog.RoleOperator, wire.DiskWish{Wish: "replace", Path: "/disk1"}, http.StatusConflict},
		{catalog.RoleOperator, wire.DiskWish{Wish: "drain", Path: "/disk1", By: "/disk3"}, http.StatusConflict},
		{catalog.RoleOperator, wire.DiskWish{Wish: "replace", Path: "/disk1", By: "/disk3"}, http.StatusPreconditionRequired},
	} {
		got, err := as(tt.role).Disks().Wish(t.Context(), tt.wish)
		if status(err) != tt.status || err == nil && got.Paused != (tt.wish.Wish == "pause") {
			t.Errorf("%+v of a %s: %+v, %v", tt.wish, tt.role, got, err)
		}
	}
	replace := wire.DiskWish{Wish: "replace", Path: "/disk1", By: "/disk3"}
	_, err := as(catalog.RoleOperator).Disks().Wish(t.Context(), replace)
	var unconfirmed *wire.Error
	if !errors.As(err, &unconfirmed) || len(unconfirmed.Fields) != 1 {
		t.Fatalf("replaced: %v", err)
	}
	replace.Confirm = unconfirmed.Confirm
	if _, err := as(catalog.RoleOperator).Disks().Wish(t.Context(), replace); err != nil {
		t.Errorf("confirmed: %v", err)
	}
	replace.By = "/disk4"
	if _, err := as(catalog.RoleOperator).Disks().Wish(t.Context(), replace); status(err) != http.StatusPreconditionRequired {
		t.Errorf("confirmed for another disk: %v", err)
	}
	all, err := as(catalog.RoleOperator).Files().Strays(t.Context())
	if err != nil || len(all) != 2 || all[0].Strays[0].Name != "a.warc.gz" || all[1].Unreachable == "" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := as(catalog.RoleCurator).Files().Strays(t.Context()); status(err) != http.StatusForbidden {
		t.Errorf("for a curator: %v", err)
	}
}

func TestABrokenDownloadGoesOn(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	text := bytes.Repeat([]byte("0123456789"), 200_000)
	if _, err := c.Files().Put(t.Context(), upload1("b.warc", text)); err != nil {
		t.Fatal(err)
	}
	b.breakAt = 700_001
	var out bytes.Buffer
	if _, err := c.Files().Get(t.Context(), "b.warc", 0, &out); err != nil || !bytes.Equal(out.Bytes(), text) {
		t.Errorf("%v %d bytes", err, out.Len())
	}
}

func TestBytesThatAreNotThoseAnnouncedAreRefused(t *testing.T) {
	t.Parallel()
	_, as := testCluster(t)
	c := as(catalog.RoleCurator)
	up := upload1("c.warc", []byte("as announced"))
	up.Open = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("as delivered")), nil }
	if _, err := c.Files().Put(t.Context(), up); !errors.Is(err, ErrDigest) {
		t.Error(err)
	}
	up = upload1("../c.warc", nil)
	if _, err := c.Files().Put(t.Context(), up); status(err) != http.StatusUnprocessableEntity && status(err) != http.StatusNotFound {
		t.Error(err)
	}
	up = upload1("d.warc", []byte("x"))
	up.SHA256 = "1234"
	if _, err := c.Files().Put(t.Context(), up); status(err) != http.StatusUnprocessableEntity {
		t.Error(err)
	}
	up = upload1("e.warc", []byte("longer than it is"))
	up.Open = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("short")), nil }
	if _, err := c.Files().Put(t.Context(), up); err == nil || !strings.Contains(err.Error(), "it changed while it was read") {
		t.Errorf("a short body: %v", err)
	}
	if _, err := c.Files().Show(t.Context(), "e.warc"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestRangesAreServedAsHTTPHasThem(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	text := []byte("0123456789abcdef")
	f, err := c.Files().Put(t.Context(), upload1("r.warc", text))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, header, value, want string
		status                    int
	}{
		{"first bytes", "Range", "bytes=0-3", "0123", 206},
		{"middle", "Range", "bytes=5-7", "567", 206},
		{"last", "Range", "bytes=-2", "ef", 206},
		{"beyond", "Range", "bytes=16-", "", 416},
		{"unchanged", "If-None-Match", `"` + f.SHA256 + `"`, "", 304},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := b.request(c, http.MethodGet, "/files/r.warc/content", "")
			r.Header.Set(tt.header, tt.value)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != tt.status || tt.want != "" && string(body) != tt.want {
				t.Errorf("%v %s %q", err, answer.Status, body)
			}
		})
	}
}

// TestWhatCannotBeReadIsNoSuccess asks for parts of a file of which one byte cannot be read from any copy. A part that
// has the byte is refused, or cut off where bytes went out before; never does it end as a success.
func TestWhatCannotBeReadIsNoSuccess(t *testing.T) {
	b, as := testCluster(t)
	c := as(catalog.RoleCurator)
	text := bytes.Repeat([]byte("0123456789"), 200_000)
	if _, err := c.Files().Put(t.Context(), upload1("d.warc", text)); err != nil {
		t.Fatal(err)
	}
	b.lostAt = 1_000_000
	for _, tt := range []struct {
		method, ranges string
		status         int
		whole          bool // the body comes to its end
	}{
		{http.MethodGet, "bytes=1000000-1000009", http.StatusServiceUnavailable, true},
		{http.MethodGet, "bytes=999990-1000009", http.StatusServiceUnavailable, true},
		{http.MethodGet, "bytes=500000-1000009", http.StatusPartialContent, false},
		{http.MethodGet, "bytes=0-99", http.StatusPartialContent, true},
		{http.MethodGet, "bytes=1000001-", http.StatusPartialContent, true},
		{http.MethodGet, "bytes=0-9,1000000-1000009", http.StatusPartialContent, false},
		{http.MethodGet, "bytes=3000000-", http.StatusRequestedRangeNotSatisfiable, true},
		{http.MethodGet, "", http.StatusOK, false},
		{http.MethodHead, "", http.StatusOK, true},
	} {
		r := b.request(c, tt.method, "/files/d.warc/content", "")
		if tt.ranges != "" {
			r.Header.Set("Range", tt.ranges)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			if tt.whole {
				t.Errorf("%s %s: %v", tt.method, tt.ranges, err)
			}
			continue
		}
		_, err = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if answer.StatusCode != tt.status || (err == nil) != tt.whole {
			t.Errorf("%s %s: %s, %v", tt.method, tt.ranges, answer.Status, err)
		}
		if tt.status == http.StatusServiceUnavailable && (answer.Header.Get("Content-Range") != "" || answer.Header.Get("ETag") != "") {
			t.Errorf("%s %s: the refusal has the file's header: %v", tt.method, tt.ranges, answer.Header)
		}
	}
}
