//go:build slow

package node

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/api"
	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/catalog/files"
	"holdfast/ledger"
	"holdfast/ledger/proof"
	"holdfast/node/ledgers"
)

// ledgerOf has the node make a ledger, and waits until there is one with the number.
func (r running) ledgerOf(t *testing.T, name catalog.ReplicaName, serial uint64) (l files.Ledger) {
	t.Helper()
	eventually(t, fmt.Sprintf("ledger %d of %s", serial, name), func() error {
		err := r.raft.View(func(v catalog.View) (err error) { l, err = v.NewestLedger(name); return err })
		if err != nil || l.Serial == serial {
			return err
		}
		all := ledgers.Nodes{Ledgers: r.ledgers}
		making, err := all.Making(t.Context(), name)
		if err == nil && !slices.ContainsFunc(making, func(m wire.LedgerMaking) bool { return m.State == ledgers.Running }) {
			// While one is made, asking again would have another one made at once, before more is put.
			_, err = all.Make(t.Context(), name, string(catalog.Local(r.id)))
		}
		return errors.Join(err, fmt.Errorf("number %d, %+v", l.Serial, making))
	})
	return l
}

// proved fetches the ledger's files from the archive into a folder, and checks the node's data folders with it.
func (r running) proved(t *testing.T, l files.Ledger, change func(*proof.Config), dirs ...string) (proof.Result, string) {
	t.Helper()
	dir := t.TempDir()
	var trusted []ledger.Trusted
	_ = r.raft.View(func(v catalog.View) error {
		members, err := v.Members()
		for _, m := range members {
			trusted = append(trusted, ledger.Trusted{ID: string(m.ID), Name: m.Name, Place: string(m.Replica)})
		}
		return err
	})
	get := func(name string) {
		eventually(t, "get "+name, func() error {
			in, err := r.files().Open(t.Context(), catalog.FileName(name), 0, -1)
			if err != nil {
				return err
			}
			defer in.Close()
			text, err := io.ReadAll(in)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, name), text, 0o600)
		})
	}
	base := strings.TrimSuffix(string(l.Name), ".txt")
	for _, name := range []string{string(l.Name), ledger.TrailName(base), ledger.SignaturesName(base)} {
		get(name)
	}
	text, err := os.ReadFile(filepath.Join(dir, string(l.Name)))
	if err != nil {
		t.Fatal(err)
	}
	h, err := ledger.ReadHead(string(l.Name), text)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range h.Sheets {
		get(s.File.Name)
		text, err := os.ReadFile(filepath.Join(dir, s.File.Name))
		if err != nil {
			t.Fatal(err)
		}
		p, err := ledger.ReadPage(s.File.Name, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range p.Lists {
			get(one.Name)
		}
	}
	var found []string
	cfg := proof.Config{Ledgers: []string{filepath.Join(dir, string(l.Name))}, Dirs: dirs, Trusted: trusted, Witnesses: 1,
		Newer: true, Found: func(f proof.Finding) { found = append(found, fmt.Sprintf("%s %s: %s", f.Kind, f.Name, f.Detail)) }}
	if change != nil {
		change(&cfg)
	}
	result, err := proof.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return result, strings.Join(found, "\n")
}

// A replica makes ledgers over real connections: each follows the one before, is countersigned at another place, and proves the
// node's folder.
func TestLedgersOfAReplica(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, ""))
	first := nodes[0]
	norths := []string{first.cfg.Data}
	held := func(want int) {
		eventually(t, "copies", func() error {
			return first.raft.View(func(v catalog.View) error {
				totals, err := v.Totals("north")
				if err == nil && (totals.Good < int64(want) || totals.Owed > 0) {
					err = fmt.Errorf("%+v", totals)
				}
				return err
			})
		})
	}
	put := func(i int) catalog.FileName {
		name := catalog.FileName(fmt.Sprintf("%d.warc", i))
		eventually(t, "put", func() error {
			body := fmt.Sprint("content ", i)
			_, err := first.files().Put(t.Context(), api.PutRequest{Name: name, Collection: "web", Size: int64(len(body)),
				SHA256: sha256.Sum256([]byte(body)), Body: strings.NewReader(body)})
			return err
		})
		return name
	}
	for i := range 12 {
		put(i)
	}
	held(12)
	one := first.ledgerOf(t, "north", 1)
	if one.Files < 12 || len(one.Signed) != 2 || len(one.Unsigned) != 0 || one.Missing != 0 {
		t.Errorf("the first: %+v", one)
	}
	r, found := first.proved(t, one, nil, norths...)
	if !r.Whole() || r.Good != one.Files || !r.First || len(r.Signed) != 2 {
		t.Errorf("%+v\n%s", r, found)
	}

	name := put(99)
	held(13 + 5) // a head, a trail, signatures, a page and a list
	two := first.ledgerOf(t, "north", 2)
	if two.First != one.Last+1 || two.Files <= one.Files {
		t.Errorf("the second: %+v", two)
	}
	r, found = first.proved(t, two, func(c *proof.Config) { c.Newer = true }, norths...)
	if !r.Whole() || r.Ledgers != 2 || !r.First {
		t.Errorf("%+v\n%s\n%+v", r, found, two.Unsigned)
	}
	path := filepath.Join("files", name.Shard().String(), string(name))
	for _, dir := range norths {
		if exists(filepath.Join(dir, path)) {
			if err := os.WriteFile(filepath.Join(dir, path), []byte("CONTENT 99"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, found = first.proved(t, two, nil, norths...); !strings.HasPrefix(found, "changed 99.warc: ") {
		t.Errorf("an altered file: %s", found)
	}
	ledgersAreRefused(t, nodes, first, two)
}

// ledgersAreRefused asks for what nobody may have.
func ledgersAreRefused(t *testing.T, nodes []running, first running, newest files.Ledger) {
	if status, body := first.ask(t, http.MethodPost, "/api/v1/replicas/third/ledgers", nil); status != http.StatusConflict ||
		!strings.Contains(body, "holds no bytes") {
		t.Errorf("a ledger of a checksum replica: %d %s", status, body)
	}
	if status, _ := first.ask(t, http.MethodPost, "/api/v1/replicas/nosuch/ledgers", nil); status != http.StatusNotFound {
		t.Errorf("a ledger of no replica: %d", status)
	}
	status, body := first.ask(t, http.MethodGet, "/api/v1/replicas/north/ledgers?limit=1", nil)
	if status != http.StatusOK || !strings.Contains(body, string(newest.Name)) || !strings.Contains(body, `"next":"l-2"`) {
		t.Errorf("the list: %d %s", status, body)
	}
	for _, n := range nodes {
		if n.cfg.Replica.Name != "south" {
			continue
		}
		base := ledger.Base("south", newest.Time.Std(), 1)
		if _, err := n.ledgers.Page(t.Context(), first.id, ledgers.PageRequest{Base: base}); err == nil {
			t.Error("a holder makes its page for a node of another replica")
		}
		if _, err := n.ledgers.Sign(t.Context(), first.id, ledgers.SignRequest{Base: base}); err == nil ||
			!strings.Contains(err.Error(), "not whole") {
			t.Errorf("something that is no ledger is signed: %v", err)
		}
	}
}
