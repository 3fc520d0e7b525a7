package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	rights "holdfast/catalog/people"
	"holdfast/cdx"
	"holdfast/harvest"
	"holdfast/harvest/domain"
)

// maxList bounds the text of a list of seeds or traps.
const maxList = kept.MaxParts * kept.MaxPartBytes / 2 // parts end between whole characters

// TextBody is a text that is sent as it is. It is not read before the handler does.
type TextBody struct{ body io.Reader }

// Resolve takes the body from the request.
func (b *TextBody) Resolve(ctx huma.Context) []error {
	r, w := humago.Unwrap(ctx)
	b.body = &steadyReader{from: r.Body, control: http.NewResponseController(w)}
	return nil
}

// plainText is text as a body.
func plainText() map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}
}

// takesText describes an operation whose request is a text.
func takesText(op *huma.Operation) {
	op.RequestBody = &huma.RequestBody{Required: true, Content: plainText()}
}

// givesText describes an operation whose answer is a text.
func givesText(op *huma.Operation) {
	op.Responses = map[string]*huma.Response{"200": {Description: "The text", Content: plainText()}}
}

// listed is the input of a list that is uploaded.
type listed struct {
	PartOfDomain
	TextBody
	Comments string `query:"comments" maxLength:"4000" doc:"comments on the list"`
	Version  int64  `query:"version" minimum:"-1" default:"-1" doc:"refuse the list if it has another version by now; 0: if there is one; -1: replace any"`
}

// trapped is the input of traps that are uploaded.
type trapped struct {
	ByDomain
	TextBody
}

func (s domains) listRoutes(api huma.API) {
	handle(s.server, api, route{act: rights.KeepDomain,
		within: ofDomain(s.server, func(in *listed) string { return in.Name }), method: http.MethodPut,
		path: "/api/v1/domains/{name}/seeds/{part}", id: "domain-seeds-put", tag: "domains", stream: true,
		summary: "Upload a seed list: one URL on a line; # begins a comment", adjust: takesText},
		func(ctx context.Context, in *listed) (wire.Domain, error) {
			l := kept.Listing{Kind: kept.Seeds, Name: in.Part, Comments: in.Comments}
			return s.after(ctx, in.Name, s.putList(ctx, in.Name, l, in.Version, in.body))
		})
	type asked struct {
		PartOfDomain
		Version uint64 `query:"version" doc:"an earlier version; default: the present one"`
	}
	register(s.server, api, route{act: catalog.Look, method: http.MethodGet,
		path: "/api/v1/domains/{name}/seeds/{part}", id: "domain-seeds-get", tag: "domains", stream: true,
		summary: "Get the text of a seed list", adjust: givesText},
		func(ctx context.Context, in *asked) (*huma.StreamResponse, error) {
			return s.getList(ctx, in.Name, kept.Seeds, in.Part, in.Version)
		})
	type removal struct {
		PartOfDomain
		Body wire.ReasonRequest
	}
	handle(s.server, api, route{act: rights.KeepDomain,
		within: ofDomain(s.server, func(in *removal) string { return in.Name }), method: http.MethodPost,
		path: "/api/v1/domains/{name}/seeds/{part}/remove", id: "domain-seeds-remove", tag: "domains",
		summary: "Remove a seed list that no configuration uses"},
		func(ctx context.Context, in *removal) (wire.Domain, error) {
			return s.removePart(ctx, kept.RemoveList, in.Name, in.Part, in.Body.Reason)
		})
	handle(s.server, api, route{act: rights.KeepDomain,
		within: ofDomain(s.server, func(in *trapped) string { return in.Name }), method: http.MethodPut,
		path: "/api/v1/domains/{name}/traps", id: "domain-traps-put", tag: "domains", stream: true,
		summary: "Upload the crawler traps of a domain: one regular expression (RE2) on a line", adjust: takesText},
		func(ctx context.Context, in *trapped) (wire.Domain, error) {
			l := kept.Listing{Kind: kept.Traps, Name: string(kept.Traps)}
			return s.after(ctx, in.Name, s.putList(ctx, in.Name, l, -1, in.body))
		})
	register(s.server, api, route{act: catalog.Look, method: http.MethodGet, path: "/api/v1/domains/{name}/traps",
		id: "domain-traps-get", tag: "domains", stream: true, summary: "Get the crawler traps of a domain",
		adjust: givesText},
		func(ctx context.Context, in *ByDomain) (*huma.StreamResponse, error) {
			return s.getList(ctx, in.Name, kept.Traps, string(kept.Traps), 0)
		})
}

// putList checks a list and stores it, in parts if it is long. version is the one that it is to replace; below 0, the
// one that there is.
func (s domains) putList(ctx context.Context, name string, l kept.Listing, version int64, body io.Reader) error {
	d, err := s.domain(ctx, name)
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(body, maxList+1))
	if err != nil {
		return err
	}
	if len(raw) > maxList {
		return problem(http.StatusRequestEntityTooLarge, wire.CodeInvalid,
			fmt.Sprintf("the list has more than %d bytes", maxList))
	}
	var items []string
	check := s.checkTrap
	if l.Kind == kept.Seeds {
		check = checkSeed
	}
	if items, err = readList(bytes.NewReader(raw), check); err == nil && l.Kind == kept.Traps {
		err = s.checkTraps(d.Name, items)
	}
	if err != nil {
		return problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(raw), "\uFEFF"), "\r\n", "\n")
	l.Domain, l.Items = d.Name, len(items)
	return s.again(ctx, version >= 0, func() error {
		if l.Kind == kept.Seeds {
			if err := s.feeds(ctx, d.Name, l.Name); err != nil {
				return err
			}
		}
		if l.Version = uint64(max(version, 0)); version < 0 {
			if l.Version, err = s.listVersion(l); err != nil {
				return err
			}
		}
		return s.storeList(ctx, l, kept.Divide(text))
	})
}

// feeds refuses a seed list if the caller may not say what is crawled with a configuration that has it.
func (s domains) feeds(ctx context.Context, of kept.Name, list string) error {
	rights := callerOf(ctx).Rights
	if err := s.seesReach(ctx, rights); err != nil {
		return err
	}
	settings, err := s.domainSettings()
	if err != nil {
		return err
	}
	return s.Catalog.View(func(v catalog.View) error { return mayFeed(v, rights, of, list, settings) })
}

// listVersion returns the version that a list has, 0 for none.
func (s domains) listVersion(of kept.Listing) (version uint64, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		l, err := catalog.DomainsIn(v).List(of.Domain, of.Kind, of.Name)
		if version = l.Version; errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		return err
	})
	return version, err
}

// storeList makes parts of a text the next version of a list.
func (s domains) storeList(ctx context.Context, l kept.Listing, parts []string) error {
	l.Sum = kept.SumOf(parts)
	if len(parts) <= 1 {
		l.Text = strings.Join(parts, "")
		return s.decide(ctx, kept.SetList, l, nil)
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	l.Upload, l.Parts = hex.EncodeToString(random), len(parts)
	for i, part := range parts {
		addition := kept.TextAddition{Domain: l.Domain, Kind: l.Kind, List: l.Name, Upload: l.Upload, Number: i + 1,
			Text: part}
		if err := s.propose(ctx, kept.AddText, addition, nil); err != nil {
			return err
		}
	}
	return s.decide(ctx, kept.SetList, l, nil)
}

// readList returns the lines of a list that say something. An error names the first line that is bad.
func readList(in io.Reader, check func(string) error) (items []string, err error) {
	for lines := domain.NewLines(in); ; {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err == nil {
			err = line.Bad
		}
		if err == nil {
			err = check(line.Text)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line.Number, err)
		}
		items = append(items, line.Text)
	}
}

// checkSeed refuses what cannot be a seed.
func checkSeed(text string) error {
	scheme, _, _ := strings.Cut(text, "://")
	if scheme != "http" && scheme != "https" && scheme != "ftp" {
		return fmt.Errorf("%w: seed: given %.100q, allowed: a URL, as http://www.example.org/", harvest.ErrInvalid,
			text)
	}
	if _, err := cdx.Normalize(text); err != nil {
		return fmt.Errorf("%w: seed %.100q: %w", harvest.ErrInvalid, text, err)
	}
	return harvest.CheckSeeds([]string{text})
}

// checkTrap refuses what is no expression.
func (s domains) checkTrap(text string) error {
	if _, err := regexp.Compile(text); err != nil {
		return fmt.Errorf("%w: trap: given %.100q, allowed: a regular expression (RE2): %w", harvest.ErrInvalid, text,
			err)
	}
	return nil
}

// checkTraps refuses traps that a crawl could not be run with.
func (s domains) checkTraps(name kept.Name, traps []string) error {
	settings := harvest.DefaultSettings()
	settings.Traps = traps
	return s.crawls.Check(harvest.Job{Name: "traps", Seeds: []string{"http://" + string(name) + "/"},
		Settings: settings})
}

// getList sends the text of a list.
func (s domains) getList(ctx context.Context, name string, kind kept.ListKind, list string,
	version uint64) (*huma.StreamResponse, error) {
	d, err := s.domain(ctx, name)
	if err != nil {
		return nil, err
	}
	var text string
	err = s.Catalog.View(func(v catalog.View) (err error) {
		text, err = listText(catalog.DomainsIn(v), &d, kind, list, version)
		return err
	})
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, fmt.Errorf("list %s of %s: %w", list, d.Name, ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		out := &lateWriter{to: &steadyWriter{ResponseWriter: w, control: http.NewResponseController(w)},
			kind: "text/plain; charset=utf-8"}
		out.begin()
		if _, err := io.WriteString(out, text); err != nil {
			s.log.Debug("answer not sent", "error", err)
		}
	}}, nil
}

// listText returns the text of a list, or of the one that is implied. A domain without traps has an empty one.
func listText(view kept.View, d *kept.Domain, kind kept.ListKind, name string, version uint64) (string, error) {
	if version != 0 {
		// The parts of an upload that is under way lie under the next version: they are no list yet.
		if l, err := view.List(d.Name, kind, name); err != nil || version > l.Version {
			return "", cmp.Or(err, catalog.ErrNotFound)
		}
		var text strings.Builder
		for n := 1; ; n++ {
			part, err := view.Text(d.Name, kind, name, version, n)
			if errors.Is(err, catalog.ErrNotFound) && n > 1 {
				return text.String(), nil
			}
			if err != nil {
				return "", err
			}
			_, _ = text.WriteString(part)
		}
	}
	l, err := view.List(d.Name, kind, name)
	switch {
	case err == nil:
		return view.WholeText(&l)
	case !errors.Is(err, catalog.ErrNotFound):
		return "", err
	case kind == kept.Traps:
		return "", nil
	case name != kept.DefaultSeedList:
		return "", err
	}
	stored, err := view.Settings()
	if err != nil {
		return "", err
	}
	settings, err := readDomainSettings(stored)
	if err != nil {
		return "", err
	}
	return strings.Join(settings.Seeds(string(d.Name)), "\n") + "\n", nil
}
