package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/api/wire"
)

// Domains returns what there is to do with domains.
func (c *Client) Domains() Domains { return Domains{c} }

// Domains are what archivists keep about sites.
type Domains struct{ c *Client }

// All yields the domains whose names begin with the prefix, by name.
func (d Domains) All(ctx context.Context, prefix string) iter.Seq2[wire.Domain, error] {
	query := url.Values{"limit": {strconv.Itoa(wire.MaxPage)}}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	return all[wire.Domain](ctx, d.c, query, "domains")
}

// Aliases yields the domains that are aliases, the first to expire first; with expired, only those that have expired.
func (d Domains) Aliases(ctx context.Context, expired bool) iter.Seq2[wire.Domain, error] {
	query := url.Values{"limit": {strconv.Itoa(wire.MaxPage)}, "expired": {strconv.FormatBool(expired)}}
	return all[wire.Domain](ctx, d.c, query, "domain-aliases")
}

// History yields what jobs brought for a domain, the newest first.
func (d Domains) History(ctx context.Context, name string) iter.Seq2[wire.DomainHistory, error] {
	return all[wire.DomainHistory](ctx, d.c, nil, "domains", name, "history")
}

// Show shows a domain with its configurations and lists.
func (d Domains) Show(ctx context.Context, name string) (wire.Domain, error) {
	return get[wire.Domain](ctx, d.c, "domains", name)
}

// Create makes a domain.
func (d Domains) Create(ctx context.Context, in wire.DomainRequest) (wire.Domain, error) {
	return post[wire.Domain](ctx, d.c, in, "domains")
}

// Set changes a domain.
func (d Domains) Set(ctx context.Context, name string, in wire.DomainChange) (wire.Domain, error) {
	return send[wire.Domain](ctx, d.c, http.MethodPatch, in, "domains", name)
}

// Alias makes a domain an alias of another one, or renews that; of nothing, it ends it.
func (d Domains) Alias(ctx context.Context, name, of string) (wire.Domain, error) {
	return send[wire.Domain](ctx, d.c, http.MethodPut, wire.AliasRequest{Of: of}, "domains", name, "alias")
}

// Remove removes a domain that nothing uses.
func (d Domains) Remove(ctx context.Context, name, reason string) error {
	return d.c.call(ctx, http.MethodPost, wire.ReasonRequest{Reason: reason}, nil, nil, "domains", name, "remove")
}

// Configure makes a configuration of a domain, or changes it.
func (d Domains) Configure(ctx context.Context, name, configuration string,
	in wire.ConfigurationChange) (wire.Domain, error) {
	return send[wire.Domain](ctx, d.c, http.MethodPatch, in, "domains", name, "configurations", configuration)
}

// Unconfigure removes a configuration of a domain.
func (d Domains) Unconfigure(ctx context.Context, name, configuration, reason string) (wire.Domain, error) {
	return post[wire.Domain](ctx, d.c, wire.ReasonRequest{Reason: reason}, "domains", name, "configurations",
		configuration, "remove")
}

// PutSeeds makes a text the next version of a seed list.
func (d Domains) PutSeeds(ctx context.Context, name, list, comments string, text io.Reader) (wire.Domain, error) {
	query := url.Values{}
	if comments != "" {
		query.Set("comments", comments)
	}
	return d.put(ctx, text, query, "domains", name, "seeds", list)
}

// ReplaceSeeds is PutSeeds, refused as a conflict if the list has another version by now; of version 0, if there is
// one.
func (d Domains) ReplaceSeeds(ctx context.Context, name, list, comments string, version uint64,
	text io.Reader) (wire.Domain, error) {
	query := url.Values{"version": {number(version)}}
	if comments != "" {
		query.Set("comments", comments)
	}
	return d.put(ctx, text, query, "domains", name, "seeds", list)
}

// Seeds returns the text of a seed list; of an earlier version, if that is not 0.
func (d Domains) Seeds(ctx context.Context, name, list string, version uint64) (string, error) {
	query := url.Values{}
	if version != 0 {
		query.Set("version", number(version))
	}
	return d.text(ctx, query, "domains", name, "seeds", list)
}

// RemoveSeeds removes a seed list that no configuration uses.
func (d Domains) RemoveSeeds(ctx context.Context, name, list, reason string) (wire.Domain, error) {
	return post[wire.Domain](ctx, d.c, wire.ReasonRequest{Reason: reason}, "domains", name, "seeds", list, "remove")
}

// PutTraps replaces the crawler traps of a domain.
func (d Domains) PutTraps(ctx context.Context, name string, text io.Reader) (wire.Domain, error) {
	return d.put(ctx, text, nil, "domains", name, "traps")
}

// Traps returns the crawler traps of a domain.
func (d Domains) Traps(ctx context.Context, name string) (string, error) {
	return d.text(ctx, nil, "domains", name, "traps")
}

// put sends a text and returns the domain that it changed.
func (d Domains) put(ctx context.Context, text io.Reader, query url.Values, segments ...string) (wire.Domain, error) {
	return sendText[wire.Domain](ctx, d.c, http.MethodPut, text, query, segments...)
}

// text asks for a text.
func (d Domains) text(ctx context.Context, query url.Values, segments ...string) (string, error) {
	r, err := d.c.request(ctx, http.MethodGet, nil, query, segments...)
	if err != nil {
		return "", err
	}
	answer, err := d.c.do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", fmt.Errorf("read the answer of %s: %w", d.c.base.Host, err)
	}
	return string(text), nil
}

// Settings returns the settings of domains.
func (d Domains) Settings(ctx context.Context) (wire.DomainSettings, error) {
	return get[wire.DomainSettings](ctx, d.c, "domain-settings")
}

// SetSettings changes some of the settings of domains.
func (d Domains) SetSettings(ctx context.Context, changes map[string]any) (wire.DomainSettings, error) {
	return send[wire.DomainSettings](ctx, d.c, http.MethodPatch, changes, "domain-settings")
}

// Fields returns what there is to do with extended fields.
func (c *Client) Fields() Fields { return Fields{c} }

// Fields are the extended fields of domains and of harvests.
type Fields struct{ c *Client }

// List lists the extended fields of "domain" or "harvest".
func (f Fields) List(ctx context.Context, of string) ([]wire.Field, error) {
	return list[wire.Field](ctx, f.c, url.Values{"of": {of}}, "fields")
}

// Set defines an extended field, or changes whether it is mandatory, and its comments.
func (f Fields) Set(ctx context.Context, in wire.Field) (wire.Field, error) {
	return send[wire.Field](ctx, f.c, http.MethodPut, in, "fields")
}

// Remove removes an extended field that has no values.
func (f Fields) Remove(ctx context.Context, of, name, reason string) error {
	return f.c.call(ctx, http.MethodPost, wire.ReasonRequest{Reason: reason}, nil, nil, "fields", of, name, "remove")
}

// Ingests returns what there is to do with lists of domains that are brought in.
func (c *Client) Ingests() Ingests { return Ingests{c} }

// Ingests are lists of domains that are brought in.
type Ingests struct{ c *Client }

// Begin uploads a list of domains, one on a line. It is brought in after that.
func (i Ingests) Begin(ctx context.Context, collection string, text io.Reader) (wire.Ingest, error) {
	query := url.Values{}
	if collection != "" {
		query.Set("collection", collection)
	}
	return sendText[wire.Ingest](ctx, i.c, http.MethodPost, text, query, "domain-ingests")
}

// List lists the ingests, the newest first.
func (i Ingests) List(ctx context.Context) ([]wire.Ingest, error) {
	return list[wire.Ingest](ctx, i.c, nil, "domain-ingests")
}

// Show shows how far an ingest is.
func (i Ingests) Show(ctx context.Context, id string) (wire.Ingest, error) {
	return get[wire.Ingest](ctx, i.c, "domain-ingests", id)
}

// Bad yields the lines that are not the name of a domain.
func (i Ingests) Bad(ctx context.Context, id string) iter.Seq2[wire.BadLine, error] {
	return all[wire.BadLine](ctx, i.c, url.Values{"limit": {strconv.Itoa(wire.MaxPage)}}, "domain-ingests", id, "bad")
}

// Stop stops an ingest. What was brought in stays.
func (i Ingests) Stop(ctx context.Context, id, reason string) (wire.Ingest, error) {
	return post[wire.Ingest](ctx, i.c, wire.ReasonRequest{Reason: reason}, "domain-ingests", id, "stop")
}

// sendText sends a text as it is and reads the answer.
func sendText[T any](ctx context.Context, c *Client, method string, text io.Reader, query url.Values,
	segments ...string) (out T, err error) {
	r, err := c.request(ctx, method, io.NopCloser(text), query, segments...)
	if err != nil {
		return out, err
	}
	r.Header.Set("Content-Type", "text/plain; charset=utf-8")
	answer, err := c.do(r)
	if err != nil {
		return out, err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil {
		return out, fmt.Errorf("read the answer of %s: %w", c.base.Host, err)
	}
	return out, nil
}
