package api

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/files"
)

// The list has pages, and an old newest ledger, or none, is an alert.
func TestLedgersAreListedAndGrowOld(t *testing.T) {
	t.Parallel()
	b, as := testCluster(t)
	c := as(catalog.RoleReader)
	alerts := func(after time.Duration) (text string) {
		t.Helper()
		err := b.View(func(v catalog.View) error {
			all, err := ledgersOld(v, time.Now().Add(after))
			for _, a := range all {
				text += fmt.Sprint(a.Kind, " ", a.Subject, " ", a.Parameters["days"], ";")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if text := alerts(99 * 24 * time.Hour); text != "" {
		t.Errorf("of empty replicas: %s", text)
	}
	b.holdAll()
	digest := sha256.Sum256([]byte("x"))
	for i := range uint64(3) {
		name := catalog.FileName(fmt.Sprintf("ledger-%d", i+1))
		b.must(catalog.AddFiles, catalog.Additions{Files: []catalog.Addition{{Name: name, Size: 1, SHA256: digest, Collection: "web", Source: self}}})
		b.must(catalog.ReportCopies, catalog.CopyReports{Node: self, Copies: []catalog.CopyReport{{Name: name,
			State: catalog.UploadCompleted, SHA256: digest}}})
		if i == 0 {
			if text := alerts(4 * 24 * time.Hour); text != "ledger-none north ;" {
				t.Errorf("without a ledger: %s", text)
			}
			if text := alerts(time.Hour); text != "" {
				t.Errorf("of a new replica: %s", text)
			}
		}
		b.must(agreed.RecordLedger, agreed.Ledger{Replica: "north", Serial: i + 1, Name: name, SHA256: digest, Node: self,
			First: i + 1, Last: i + 1, Unsigned: []agreed.LedgerRefusal{{Node: self, Reason: "why"}}})
	}
	if text := alerts(71 * time.Hour); text != "" {
		t.Errorf("after less than three days: %s", text)
	}
	if text := alerts(4*24*time.Hour + time.Hour); text != "ledger-old north 4;" {
		t.Errorf("after four days: %s", text)
	}
	var serials []uint64
	for l, err := range c.Ledgers().List(t.Context(), "north") {
		if err != nil {
			t.Fatal(err)
		}
		serials = append(serials, l.Serial)
	}
	if fmt.Sprint(serials) != "[3 2 1]" {
		t.Errorf("listed: %v", serials)
	}
	l, err := c.Ledgers().Show(t.Context(), "north", 2)
	if err != nil || l.Name != "ledger-2" || len(l.Unsigned) != 1 || l.Unsigned[0].Name != "north-1" || l.Signed == nil {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := c.Ledgers().Show(t.Context(), "north", 4); !errors.Is(err, wire.ErrNotFound) {
		t.Errorf("one that there is not: %v", err)
	}
	making, err := c.Ledgers().Making(t.Context(), "north")
	if err != nil || len(making) != 1 || making[0].State != "failed" {
		t.Errorf("%+v, %v", making, err)
	}
	if _, err := c.Ledgers().Making(t.Context(), "nosuch"); !errors.Is(err, wire.ErrNotFound) {
		t.Errorf("of no replica: %v", err)
	}
}
