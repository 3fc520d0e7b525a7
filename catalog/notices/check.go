package notices

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Bounds of texts, in bytes.
const (
	mostSubject    = 1 << 10
	mostParameters = 16
	mostKinds      = 100
	mostTo         = 2
	mostBoxes      = 1000
	mostSealed     = 8 << 10
)

// checkOf refuses what cannot be an alert.
func checkOf(o *Of) error {
	if !isWord(o.Kind) {
		return agree.Refuse(agree.Invalid, "kind of alert %q: want small letters and hyphens", agree.Clip(o.Kind, 64))
	}
	if o.Node != "" {
		if err := agree.CheckName("node", o.Node); err != nil {
			return err
		}
	}
	if len(o.Subject) > mostSubject || !utf8.ValidString(o.Subject) {
		return agree.Refuse(agree.Invalid, "subject of %d bytes: want at most %d of text", len(o.Subject), mostSubject)
	}
	return nil
}

func isWord(text string) bool {
	for i := range len(text) {
		if c := text[i]; c != '-' && (c < 'a' || c > 'z') {
			return false
		}
	}
	return text != "" && len(text) <= 64
}

func isSeverity(text string) bool { return text == "bad" || text == "look" }

// checkAddress refuses what cannot be an address.
func checkAddress(s *agree.State, a *Address) error {
	if err := agree.CheckName("address", a.Name); err != nil {
		return err
	}
	if err := a.checkTo(); err != nil {
		return err
	}
	if err := a.checkFilter(); err != nil {
		return err
	}
	if !agree.IsCode(a.Language, "-", 35) || a.Language == "" {
		return agree.Refuse(agree.Invalid, "language %q: want a tag such as da or en-GB", agree.Clip(a.Language, 40))
	}
	switch a.When {
	case AtOnce, Hourly:
		if a.Hour != "" {
			return agree.Refuse(agree.Invalid, "a time of day is for daily reports")
		}
	case Daily:
		if !isHour(a.Hour) {
			return agree.Refuse(agree.Invalid, "time of day %q: want one such as 07:30", agree.Clip(a.Hour, 20))
		}
	default:
		return agree.Refuse(agree.Invalid, "when %q: want at-once, hourly or daily", agree.Clip(string(a.When), 20))
	}
	if !agree.IsCode(a.Zone, "-_+/", 64) {
		return agree.Refuse(agree.Invalid, "zone %q: want a time zone such as Europe/Copenhagen",
			agree.Clip(a.Zone, 64))
	}
	if a.Sealed != nil {
		return checkSealed(s, a.Sealed)
	}
	return nil
}

// checkTo refuses a destination that does not suit the way.
func (a *Address) checkTo() error {
	if len(a.To) > mostTo {
		return agree.Refuse(agree.Invalid, "%d destinations: at most %d", len(a.To), mostTo)
	}
	for _, to := range a.To {
		if to == "" || len(to) > 254 || !isVisible(to) {
			return agree.Refuse(agree.Invalid, "destination %q: want text in ASCII without spaces",
				agree.Clip(to, 254))
		}
	}
	switch a.Way {
	case Mail:
		for _, to := range a.To {
			name, host, _ := strings.Cut(to, "@")
			if name == "" || len(host) < 3 || strings.Contains(host, "@") {
				return agree.Refuse(agree.Invalid, "e-mail address %q: want name@host in ASCII", to)
			}
		}
		if len(a.To) != 1 { // one that does not exist would keep the others from being told
			return agree.Refuse(agree.Invalid, "address %s needs one e-mail address, perhaps of a mailing list", a.Name)
		}
	case Webhook:
		if len(a.To) != 1 || !strings.HasPrefix(a.To[0], "https://") && !strings.HasPrefix(a.To[0], "http://") ||
			strings.Count(a.To[0], "/") != 2 {
			return agree.Refuse(agree.Invalid, "address %s needs scheme and host of one URL", a.Name)
		}
	case Standard:
		if len(a.To) > 1 {
			return agree.Refuse(agree.Invalid, "address %s: name one node, or none", a.Name)
		}
		for _, node := range a.To {
			if err := agree.CheckName("node", node); err != nil {
				return err
			}
		}
	default:
		return agree.Refuse(agree.Invalid, "way %q: want mail, webhook or stderr", agree.Clip(string(a.Way), 20))
	}
	if a.Way != Webhook && (a.Inside || a.Sealed != nil) {
		return agree.Refuse(agree.Invalid, "only webhooks have a secret, and are inside")
	}
	return nil
}

func (f *Filter) checkFilter() error {
	if len(f.Kinds) > mostKinds {
		return agree.Refuse(agree.Invalid, "%d kinds: at most %d", len(f.Kinds), mostKinds)
	}
	for _, k := range f.Kinds {
		if !isWord(k) {
			return agree.Refuse(agree.Invalid, "kind of alert %q: want small letters and hyphens", agree.Clip(k, 64))
		}
	}
	if f.Least != "" && !isSeverity(f.Least) {
		return agree.Refuse(agree.Invalid, "severity %q: want look or bad", agree.Clip(f.Least, 20))
	}
	if len(f.Place) > 64 || len(f.Collection) > 64 || !agree.Readable(f.Place) || !agree.Readable(f.Collection) {
		return agree.Refuse(agree.Invalid, "a place and a collection are names of at most 64 bytes")
	}
	return nil
}

// checkSealed refuses a secret that no member can open.
func checkSealed(s *agree.State, x *Sealed) error {
	if err := agree.CheckName("secret", x.ID); err != nil {
		return err
	}
	if len(x.Text) == 0 || len(x.Text) > mostSealed || len(x.Boxes) == 0 {
		return agree.Refuse(agree.Invalid, "a secret needs what is encrypted and a node that can open it")
	}
	return checkBoxes(s, x.Boxes)
}

func checkBoxes(s *agree.State, boxes []Box) error {
	if len(boxes) > mostBoxes {
		return agree.Refuse(agree.Invalid, "a secret for %d nodes: at most %d", len(boxes), mostBoxes)
	}
	for i := range boxes {
		b := &boxes[i]
		if len(b.Box) == 0 || len(b.Box) > 200 || i > 0 && boxes[i-1].Node >= b.Node {
			return agree.Refuse(agree.Invalid,
				"the boxes of a secret: want one for each node, in the order of their ids")
		}
		m, there, err := cluster.In(s).Member(b.Node)
		if err != nil || !there {
			return agree.OrNotFound(err, "no member %q to open a secret", agree.Clip(string(b.Node), 60))
		}
		if !opens(&m, b) {
			return agree.Refuse(agree.Conflict, "member %s has another key for secrets by now", m.Name)
		}
	}
	return nil
}

// opens reports whether the member can open the box.
func opens(m *cluster.Member, b *Box) bool { return m.Seal != nil && bytes.Equal(m.Seal.Key, b.Key) }

// Box returns the box that the member can open with its present key, or nil.
func (x *Sealed) Box(m *cluster.Member) *Box {
	for i := range x.Boxes {
		if b := &x.Boxes[i]; b.Node == m.ID && opens(m, b) {
			return b
		}
	}
	return nil
}

// isVisible reports whether the text is ASCII without spaces, quotes, brackets and what separates addresses.
func isVisible(text string) bool {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"'\\<>(),;&`", c) >= 0 {
			return false
		}
	}
	return true
}

// isHour reports whether the text is a time of day, 00:00 to 23:59.
func isHour(text string) bool {
	if len(text) != 5 || text[2] != ':' {
		return false
	}
	for _, i := range []int{0, 1, 3, 4} {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text[:2] <= "23" && text[3:] <= "59"
}
