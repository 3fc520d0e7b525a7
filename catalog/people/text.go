package people

import (
	"strings"
	"unicode/utf8"

	"holdfast/catalog/agree"
)

func checkPerson(p *Person) error {
	name, host, _ := strings.Cut(p.Mail, "@")
	switch {
	case p.Name == "" || utf8.RuneCountInString(p.Name) > 100 || strings.TrimSpace(p.Name) != p.Name ||
		!readable(p.Name):
		return agree.Refuse(agree.Invalid,
			"name %q: want 1 to 100 characters of readable text without spaces around them", agree.Clip(p.Name, 100))
	case strings.Contains(p.Name, ":"), strings.HasPrefix(folded(p.Name), "program "):
		return agree.Refuse(agree.Invalid, "name %q: it would be taken for that of a node or program", p.Name)
	case len(p.Mail) > 254 || name == "" || len(host) < 3 || strings.Contains(host, "@") || !visible(p.Mail):
		return agree.Refuse(agree.Invalid, "e-mail address %q: want name@host in ASCII", agree.Clip(p.Mail, 254))
	case utf8.RuneCountInString(p.Institution) > 64 || !readable(p.Institution):
		return agree.Refuse(agree.Invalid, "institution %q: want a place of at most 64 characters",
			agree.Clip(p.Institution, 64))
	case !code(p.Language, "-", 35):
		return agree.Refuse(agree.Invalid, "language %q: want a tag such as da or en-GB", agree.Clip(p.Language, 40))
	case !code(p.Zone, "-_+/", 64):
		return agree.Refuse(agree.Invalid, "zone %q: want a time zone such as Europe/Copenhagen",
			agree.Clip(p.Zone, 64))
	}
	return nil
}

// Text is checked here byte by byte and not with package unicode: its tables change with the versions of Go, and
// members with different programs have to decide alike.

// readable refuses control characters and characters that reverse, hide or break text.
func readable(text string) bool {
	for _, r := range text {
		switch {
		case r < ' ', 0x7f <= r && r <= 0xa0, r == 0xad, r == 0x61c, r == utf8.RuneError, r == 0xfeff,
			0x200b <= r && r <= 0x200f, 0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f,
			0xe0000 <= r && r <= 0xe0fff:
			return false
		}
	}
	return true
}

// visible reports whether the text is ASCII without spaces and without what JSON and HTML escape.
func visible(text string) bool {
	for i := range len(text) {
		if text[i] == ' ' || text[i] == '/' || text[i] == '\'' || !agree.Plain(text[i]) {
			return false
		}
	}
	return true
}

// code reports whether the text is of letters, digits and the given signs.
func code(text, signs string, most int) bool {
	for i := range len(text) {
		c := text[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte(signs, c) < 0 {
			return false
		}
	}
	return len(text) <= most
}

// lower turns ASCII letters into small ones.
func lower(text string) string {
	out := []byte(text)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// folded is a name as it is compared with others: small letters, single spaces, no slash.
func folded(name string) string {
	words := strings.FieldsFunc(lower(name), func(r rune) bool { return r == ' ' })
	return strings.ReplaceAll(strings.Join(words, " "), "/", "%2f")
}
