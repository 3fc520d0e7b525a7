package catalog_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"holdfast/catalog"
)

// FuzzApply feeds the catalog lines of hostile commands. It must neither panic nor report a damaged state,
// write no more than it may, give the same bytes twice, and keep its own lists true.
func FuzzApply(f *testing.F) {
	for _, seed := range fuzzSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		var sums [2]catalog.Digest
		for run := range sums {
			c := emptyCluster(t)
			c.join(t, "south-1")
			for _, line := range strings.Split(lines, "\n") {
				c.index++
				c.written, c.bytes = 0, 0
				if _, err := catalog.Apply(c, c.index, []byte(named(line))); err != nil {
					t.Fatalf("apply: %v", err)
				}
				if c.written > 1000 || c.bytes > 2*catalog.MaxBytes {
					t.Fatalf("%q wrote %d keys and %d bytes", line, c.written, c.bytes)
				}
			}
			readAll(t, c)
			sums[run] = c.sum()
		}
		if sums[0] != sums[1] {
			t.Fatal("the same commands gave other bytes")
		}
	})
}

// named puts the ids of nodes for $north and $south.
func named(line string) string {
	return strings.NewReplacer("$north", string(id("north-1")), "$south", string(id("south-1"))).Replace(line)
}

func fuzzSeeds() []string {
	command := func(kind catalog.Kind, body string) string {
		data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: 99999, Body: json.RawMessage(body)})
		if err != nil {
			panic(err)
		}
		return string(data)
	}
	add := command(catalog.AddFiles, `{"files":[{"name":"f1","size":7,"sha256":"00000000000000000000000000000000000000000000000000000000000000ff","collection":"web","source":"$south"}]}`)
	place := command(catalog.AssignShards, `{"replica":"north","shards":[1013],"node":"$north"}`)
	report := command(catalog.ReportCopies, `{"node":"$north","copies":[{"name":"f1","state":"UPLOAD_COMPLETED","sha256":"00000000000000000000000000000000000000000000000000000000000000ff"}]}`)
	return []string{
		"", "{}", `{"v":1}`, `{"v":1,"k":"file.add","body":[]}`, "\x00\xff", `{"v":1,"k":"job.create","at":-9223372036854775808,"body":null}`,
		strings.Join([]string{place, add, report, command(catalog.FindCopies, `{"node":"$north","files":[{"name":"f1","fileList":"MISSING","checksum":"UNKNOWN"}]}`),
			command(catalog.JudgeCopies, `{"copies":[{"name":"f1","replica":"north","bad":true,"votes":"x"}]}`), report}, "\n"),
		strings.Join([]string{add, command(catalog.SetReplica, `{"name":"east","kind":"bitarchive","place":"x"}`),
			command(catalog.FillReplica, `{"replica":"east","shard":0}`), command(catalog.RemoveFile, `{"name":"f1","sha256":"00000000000000000000000000000000000000000000000000000000000000ff"}`),
			command(catalog.ReleaseFiles, `{"node":"$south","files":["f1","f1"]}`)}, "\n"),
		strings.Join([]string{place, add, command(catalog.RemoveMember, `{"id":"$north","lost":true}`), command(catalog.FillReplica, `{"replica":"north","shard":0}`), report}, "\n"),
		strings.Join([]string{command(catalog.CreateJob, `{"harvest":"h","collection":"web","submit":true,"spec":{"name":"j","seeds":["x"]}}`),
			command(catalog.ClaimJob, `{"id":1,"node":"$north"}`), command(catalog.StartJob, `{"id":1,"node":"$north","attempt":1}`),
			command(catalog.LoseJob, `{"id":1,"node":"$north","attempt":1}`), command(catalog.WishJob, `{"id":1,"wish":"stop"}`), command(catalog.ResubmitJob, `{"id":1}`)}, "\n"),
		strings.Join([]string{command(catalog.PassShard, `{"replica":"north","shard":1013,"node":"$north","began":-5,"ended":99999999999999999}`),
			command(catalog.SwitchShard, `{"replica":"north","shard":65535,"node":"$north"}`), command(catalog.LeaveShard, `{"node":"$north","replica":"north","shard":4096}`),
			command(catalog.UpdateMember, `{"id":"$south","addresses":["a:1"],"weight":-1}`), command(catalog.CreateAccess, `{"id":"a","secretHash":"00000000000000000000000000000000000000000000000000000000000000ff","role":"admin"}`)}, "\n"),
	}
}

// readAll asks the view everything and counts the lists again from the entries.
func readAll(t *testing.T, c *cluster) {
	v := c.view()
	files, err := v.Files("", "", 0)
	replicas, err2 := v.Replicas()
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, r := range replicas {
		var want catalog.Totals
		for _, f := range files {
			cp := f.Copy(r.Name)
			if cp == nil || cp.Surplus || f.Lost != 0 {
				continue
			}
			want.Files++
			want.Bytes += f.Size
			if cp.State == catalog.UploadCompleted {
				want.Good++
			} else {
				want.Owed++
			}
			if cp.Disputed {
				want.Disputed++
			}
		}
		totals, err := v.Totals(r.Name)
		owed, _, err2 := v.Owed(r.Name, nil, catalog.Cursor{}, 1000)
		if err := errors.Join(err, err2); err != nil || totals != want || len(owed) != int(want.Owed) {
			t.Fatalf("totals of %s are %+v, counted %+v, %d owed: %v", r.Name, totals, want, len(owed), err)
		}
		_, err = v.Layout(r.Name)
		_, err2 = v.Passes(r.Name)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		if _, err := v.CoveringFile(&f); err != nil {
			t.Fatal(err)
		}
	}
	for _, state := range []catalog.JobState{"", catalog.JobNew, catalog.JobSubmitted, catalog.JobStarted, catalog.JobFailed, catalog.JobResubmitted} {
		if _, err := v.Jobs(state, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := catalog.VerifyTrail(c); err != nil {
		t.Fatal(err)
	}
}
