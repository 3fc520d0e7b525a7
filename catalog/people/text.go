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
		!agree.Readable(p.Name):
		return agree.Refuse(agree.Invalid,
			"name %q: want 1 to 100 characters of readable text without spaces around them", agree.Clip(p.Name, 100))
	case strings.Contains(p.Name, ":"), strings.HasPrefix(folded(p.Name), "program "):
		return agree.Refuse(agree.Invalid, "name %q: it would be taken for that of a node or program", p.Name)
	case len(p.Mail) > 254 || name == "" || len(host) < 3 || strings.Contains(host, "@") || !visible(p.Mail):
		return agree.Refuse(agree.Invalid, "e-mail address %q: want name@host in ASCII", agree.Clip(p.Mail, 254))
	case utf8.RuneCountInString(p.Institution) > 64 || !agree.Readable(p.Institution):
		return agree.Refuse(agree.Invalid, "institution %q: want a place of at most 64 characters",
			agree.Clip(p.Institution, 64))
	case !agree.IsCode(p.Language, "-", 35):
		return agree.Refuse(agree.Invalid, "language %q: want a tag such as da or en-GB", agree.Clip(p.Language, 40))
	case !agree.IsCode(p.Zone, "-_+/", 64):
		return agree.Refuse(agree.Invalid, "zone %q: want a time zone such as Europe/Copenhagen",
			agree.Clip(p.Zone, 64))
	}
	return nil
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
