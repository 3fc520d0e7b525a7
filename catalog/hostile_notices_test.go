package catalog_test

import (
	"pgregory.net/rapid"

	"holdfast/catalog"
	"holdfast/catalog/notices"
)

// notices draws a command about faults and who is told of them.
func (h hostile) notices() (catalog.Kind, any) {
	of := notices.Of{Kind: pick(h, "kind", "no-quorum", "disk-low", "job-held", "", "A b"),
		Node: pick(h, "seen by", "", "", "north-1", "south-1", "gone"), Subject: h.text()}
	name := pick(h, "address", "a", "a", "b", "", "a/b")
	item := notices.Item{Of: of, Round: uint64(h.number()), Cleared: rapid.Bool().Draw(h.t, "cleared")}
	asked := notices.Address{Name: name, Way: pick(h, "way", notices.Standard, notices.Mail, notices.Webhook, "x"),
		To: pick(h, "to", nil, []string{"a@b.cd"}, []string{"https://h"}, []string{h.text()}), Language: pick(h, "tag", "en", "", "d\x00"),
		When: pick(h, "when", notices.AtOnce, notices.Hourly, notices.Daily), Hour: pick(h, "hour", "", "07:30", "24:00"),
		Version: h.number(), Inside: rapid.Bool().Draw(h.t, "inside"),
		Filter: notices.Filter{Kinds: []string{pick(h, "of", "disk-low", h.text())}, Least: pick(h, "least", "", "bad", "x")}}
	if rapid.Bool().Draw(h.t, "sealed") {
		asked.Sealed = &notices.Sealed{ID: "x", Text: []byte("x"), Boxes: []notices.Box{{Node: h.node(), Key: []byte("k"), Box: []byte("b")}}}
	}
	switch rapid.IntRange(0, 12).Draw(h.t, "notices") {
	case 0, 1:
		return notices.Report, notices.Reporting{Node: h.node(), Raised: []notices.Raising{{Of: of, Severity: pick(h, "severity", "bad", "look", ""),
			Parameters: map[string]string{pick(h, "parameter", "reason", ""): h.text()}, Since: h.time(), Round: item.Round}}}
	case 2:
		return notices.Report, notices.Reporting{Node: h.node(), Cleared: []notices.Clearing{{Of: of, Round: item.Round}}}
	case 3:
		return notices.Drop, notices.Dropping{Faults: []notices.Of{of}, Tests: []notices.NoticeRef{{Address: name, ID: "n"}}}
	case 4:
		return notices.Acknowledge, notices.Acknowledging{Of: of, Note: h.text(), Until: h.time()}
	case 5:
		return notices.Withdraw, of
	case 6, 7:
		return pick(h, "make", notices.Create, notices.Set), notices.Setting{Address: asked}
	case 8:
		return notices.Remove, notices.Ref{Name: name}
	case 9:
		return notices.SealAgain, notices.Resealing{Name: name, ID: "x", Boxes: []notices.Box{{Node: h.node()}}}
	case 10:
		return notices.Test, notices.Testing{Name: name, ID: pick(h, "id", "n", "m", "")}
	case 11:
		return notices.Claim, notices.Claiming{Node: h.node(), Notice: notices.Notice{Address: name, ID: "n", Items: []notices.Item{item},
			Due: h.time(), Report: rapid.Bool().Draw(h.t, "report")}}
	}
	return notices.Settle, notices.Outcome{Node: h.node(), Address: name, ID: pick(h, "id", "n", "m"), Tries: h.number(), Failed: h.text(),
		Items: []notices.Item{item}}
}
