package domains

import (
	"fmt"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
	"holdfast/catalog/jobs"
)

// View answers questions about the subject; see agree.View.
type View struct{ Reader agree.Reader }

// NewView returns a View of what r shows.
func NewView(r agree.Reader) View { return View{Reader: r} }

// Domain returns the domain, or ErrNotFound.
func (v View) Domain(name Name) (Domain, error) {
	return agree.Found(agree.Get[Domain](v.Reader, keyDomain(name)))
}

// Domains returns at most n domains behind the given one, by name, of those whose names begin with the prefix.
func (v View) Domains(prefix string, after Name, n int) (out []Domain, err error) {
	from := []byte(nil)
	if after != "" {
		from = []byte(keyDomain(after) + "\x00")
	}
	var failed error
	err = v.Reader.Scan([]byte(PrefixDomains+prefix), from, func(key, value []byte) bool {
		var d Domain
		if failed = agree.DecodeValue(key, value, &d); failed != nil {
			return false
		}
		out = append(out, d)
		return n <= 0 || len(out) < n
	})
	if err == nil {
		err = failed
	}
	return out, err
}

// Count returns how many domains a collection has.
func (v View) Count(of cluster.CollectionName) (int64, error) {
	n, _, err := agree.Get[int64](v.Reader, keyCount(of))
	return n, err
}

// Configuration returns a configuration of the domain's own, or ErrNotFound: DefaultConfiguration may be implied.
func (v View) Configuration(d Name, name string) (Configuration, error) {
	return agree.Found(agree.Get[Configuration](v.Reader, keyConfig(d, name)))
}

// Configurations returns at most n of the domain's own configurations behind the given one.
func (v View) Configurations(d Name, after string, n int) ([]Configuration, error) {
	return agree.List[Configuration](v.Reader, prefixConfigsOf(d), after, n)
}

// TemplateUsed returns a domain that has a configuration with the template, empty if there is none.
func (v View) TemplateUsed(template string) (Name, error) {
	tails, err := agree.Tails(v.Reader, prefixTemplate(template), "", 1)
	if err != nil || len(tails) == 0 {
		return "", err
	}
	name, _, _ := strings.Cut(tails[0], "/")
	return Name(name), nil
}

// ConfigurationsWith returns at most n configurations that use a secret, each as domain/name.
func (v View) ConfigurationsWith(secret string, n int) ([]string, error) {
	return jobs.ConfigurationsWith(v.Reader, secret, n)
}

// List returns a list of the domain's own, or ErrNotFound: DefaultSeedList may be implied.
func (v View) List(d Name, kind ListKind, name string) (List, error) {
	l, err := agree.Found(agree.Get[List](v.Reader, keyList(d, kind, name)))
	if err == nil && l.Removed != 0 {
		return List{}, agree.ErrNotFound
	}
	return l, err
}

// Lists returns the domain's own lists of a kind, by name.
func (v View) Lists(d Name, kind ListKind) ([]List, error) {
	all, err := agree.List[List](v.Reader, prefixListsOf(d, kind), "", 0)
	out := all[:0]
	for _, l := range all {
		if l.Removed == 0 {
			out = append(out, l)
		}
	}
	return out, err
}

// Text returns a part of the text of a version of a list, from 1, or ErrNotFound.
func (v View) Text(d Name, kind ListKind, name string, version uint64, part int) (string, error) {
	value, err := v.Reader.Get([]byte(keyText(d, kind, name, version, part)))
	if err != nil {
		return "", err
	}
	if value == nil {
		return "", agree.ErrNotFound
	}
	return decodeText(value)
}

// WholeText returns the text of a list. It is the one that the list was made with, or it is an error.
func (v View) WholeText(l *List) (string, error) {
	var text strings.Builder
	var sum agree.Digest
	for n := 1; n <= l.Parts; n++ {
		part, err := v.Text(l.Domain, l.Kind, l.Name, l.Version, n)
		if err != nil {
			return "", fmt.Errorf("part %d of list %s of %s: %w", n, l.Name, l.Domain, err)
		}
		sum = nextSum(sum, part)
		_, _ = text.WriteString(part)
	}
	if sum != l.Sum {
		return "", fmt.Errorf("the text of list %s of %s is not the one that it was made with", l.Name, l.Domain)
	}
	return text.String(), nil
}

// AliasesOf returns at most n aliases of a domain behind the given one, expired ones too.
func (v View) AliasesOf(d, after Name, n int) ([]Name, error) {
	tails, err := agree.Tails(v.Reader, prefixAliasesOf(d), string(after), n)
	return kinds[Name](tails), err
}

// Aliases returns at most n domains that are aliases, the first to expire first, behind the given one. With before,
// those that expire before.
func (v View) Aliases(after *Domain, before agree.Time, n int) (out []Domain, err error) {
	tail := ""
	if after != nil && after.Alias != nil {
		tail = strings.TrimPrefix(keyExpiry(after.Alias.Until, after.Name), prefixExpiries)
	}
	tails, err := agree.Tails(v.Reader, prefixExpiries, tail, n)
	for _, tail := range tails {
		until, name, _ := strings.Cut(tail, "/")
		if before != 0 && until >= agree.Hex(uint64(before)) {
			break
		}
		d, err := v.Domain(Name(name))
		if err != nil {
			return out, fmt.Errorf("the alias %s: %w", name, err)
		}
		out = append(out, d)
	}
	return out, err
}

// Fields returns the extended fields of domains or of harvests, by name.
func (v View) Fields(of FieldOf) ([]Field, error) {
	return agree.List[Field](v.Reader, prefixFieldsOf(of), "", 0)
}

// Settings returns the settings of domains; none are of version 0.
func (v View) Settings() (Settings, error) {
	s, _, err := agree.Get[Settings](v.Reader, keySettings)
	return s, err
}

// Ingest returns the ingest, or ErrNotFound.
func (v View) Ingest(id string) (Ingest, error) {
	return agree.Found(agree.Get[Ingest](v.Reader, keyIngest(id)))
}

// Ingests returns at most n ingests behind the given one, by id.
func (v View) Ingests(after string, n int) ([]Ingest, error) {
	return agree.List[Ingest](v.Reader, PrefixIngests, after, n)
}

// Reading returns the ingests that run on a node.
func (v View) Reading(node agree.NodeID) ([]string, error) {
	return agree.Tails(v.Reader, prefixReadingBy(node), "", 0)
}

// BadLines returns at most n lines of an ingest's list that are bad, behind the given line.
func (v View) BadLines(id string, after int64, n int) ([]BadLine, error) {
	chunks, err := agree.List[badLines](v.Reader, prefixBadOf(id), "", 0)
	var out []BadLine
	for _, chunk := range chunks {
		for _, bad := range chunk.Lines {
			if bad.Line > after && len(out) < n {
				out = append(out, bad)
			}
		}
	}
	return out, err
}

func kinds[T ~string](texts []string) []T {
	out := make([]T, len(texts))
	for i, text := range texts {
		out[i] = T(text)
	}
	return out
}
