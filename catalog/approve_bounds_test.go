package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/agree"
	"holdfast/catalog/approvals"
	"holdfast/catalog/files"
)

// TestProposalsAreBounded: very many that wait keep another one out, and those that have expired do not.
func TestProposalsAreBounded(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	ask := c.proposing(files.SetCopyState, files.CopySetting{Name: "f", Replica: "south", SHA256: digest("f"), State: catalog.UploadStarted, Reason: "x"})
	for range 200 {
		c.does(anna, approvals.Propose, ask)
	}
	c.refused(catalog.Conflict, anna, approvals.Propose, ask)
	c.now += 8 * catalog.Day
	c.does(anna, approvals.Propose, ask)
	waiting, err := catalog.ApprovalsIn(c.view()).Waiting()
	if err != nil || len(waiting) != 1 || waiting[0].ID != 201 {
		t.Errorf("%d wait, %v", len(waiting), err)
	}
	large := ask
	large.Body = json.RawMessage(`{"name":"f","replica":"south","state":"UPLOAD_STARTED","sha256":"` + digest("f").String() + `","reason":"` + strings.Repeat("x", 8<<10) + `"}`)
	c.refused(catalog.Invalid, anna, approvals.Propose, large)
	for _, body := range []string{`null`, `[]`, `{}`, `{"name":"f","more":1}`, `{"name":"f","sha256":"x"}`} {
		if r := c.as(anna, approvals.Propose, approvals.Proposing{Kind: catalog.RemoveFile, Body: json.RawMessage(body)}); r == nil {
			t.Errorf("%s is proposed", body)
		}
	}
}

// TestAGrantIsOneAct: a grant with a condition is carried out once, and two of them in a row are one.
func TestAGrantIsOneAct(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	d := c.propose(anna, files.SetCopyState, files.CopySetting{Name: "f", Replica: "south", SHA256: digest("f"), State: catalog.UploadStarted, Reason: "x"})
	once := agree.Guard{Once: strings.Repeat("0", 32), Digest: strings.Repeat("1", 32), Kind: approvals.Grant, Body: c.proposing(approvals.Grant, d).Body}
	c.refused(catalog.Denied, anna, agree.Guarded, once)
	c.does(berta, agree.Guarded, once)
	c.must(t, catalog.ReportCopies, catalog.CopyReports{Node: id("south-1"), Copies: []catalog.CopyReport{{Name: "f", State: catalog.UploadCompleted, SHA256: digest("f")}}})
	if res := c.send(t, catalog.Command{Kind: agree.Guarded, Actor: berta}, once); res.Refusal != nil || !res.Repeated {
		t.Errorf("%+v", res)
	}
	if f, err := c.view().File("f"); err != nil || f.Copy("south").State != catalog.UploadCompleted {
		t.Errorf("a grant that is sent again is carried out again: %+v, %v", f, err)
	}
	// A granted command that is itself a grant, or carries one, is none that waits.
	for _, kind := range []catalog.Kind{agree.Guarded, approvals.Propose, approvals.Grant, catalog.RaiseEpoch, catalog.GiveGrant} {
		c.refused(catalog.Invalid, anna, approvals.Propose, c.proposing(kind, once))
	}
}
