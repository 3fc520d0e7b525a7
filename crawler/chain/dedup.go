package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/plan"
	"holdfast/crawler/scope"
	"holdfast/harvest"
)

// Capture is an earlier record that a revisit can refer to.
type Capture struct {
	URL      string    `json:"url"`
	Date     time.Time `json:"date"`
	RecordID string    `json:"id,omitempty"`
	Digest   string    `json:"digest"`
	Type     string    `json:"type,omitempty"` // media type
	File     string    `json:"file"`
	Offset   int64     `json:"offset"`

	ETag         string `json:"etag,omitempty"` // validators that came with it
	LastModified string `json:"last_modified,omitempty"`
}

// Earlier finds what earlier jobs archived. It answers nil where there is nothing, and may be asked by several
// goroutines.
type Earlier interface {
	// Latest returns the latest capture of a URL that has a document, with its validators.
	Latest(ctx context.Context, url string) (*Capture, error)
	// Content returns a capture with that payload digest.
	Content(ctx context.Context, digest string) (*Capture, error)
}

// The values of the setting deduplicate: which earlier documents a document is compared with.
const (
	dedupNone       = "none"
	dedupURL        = "url"
	dedupEquivalent = "equivalent"
)

// ValueDigest begins the names of the frontier's values that have the first record with a digest.
const ValueDigest = "digest/"

// Dedup finds the records of which a document is a duplicate, in this crawl and in earlier ones.
type Dedup struct {
	Plan     *plan.Current
	Frontier *frontier.Frontier
	Scope    *scope.Scope
	Canon    *scope.Canonicalizer
	Before   Earlier // nil: there are no earlier crawls
	Log      *slog.Logger
}

// original returns the earlier record with the same content, if the document is to be recorded as a revisit of it;
// else nil.
func (d *Dedup) original(ctx context.Context, v *Visit) (*Capture, error) {
	if (v.Status == 304 || v.unchanged) && v.Earlier != nil {
		v.Dedup, v.Digest = frontier.NotModified, digestOf(v)
		v.duplicates("server-not-modified", v.Earlier)
		return v.Earlier, nil
	}
	if v.Page.Again {
		return d.recordedBefore(v)
	}
	if !d.deduplicates(v) {
		return nil, nil
	}
	found, err := d.duplicate(ctx, v)
	if err != nil || found == nil {
		return nil, err
	}
	v.Dedup, v.Subject.Identical = frontier.Duplicate, true
	v.duplicates("digest", found)
	return found, nil
}

// digestOf returns the digest of the URI's content; if the rest was not fetched because it is unchanged, the earlier
// capture's digest.
func digestOf(v *Visit) string {
	if v.unchanged {
		return v.Earlier.Digest
	}
	return v.Digest
}

// deduplicates tells whether the document is one that is compared with earlier ones.
func (d *Dedup) deduplicates(v *Visit) bool {
	return v.Exchange.Truncated == "" && !IsPrerequisite(v.URI) && d.comparable(v.Subject, v.Set, v.Exchange.BodySize)
}

// comparable reports whether a document that was fetched completely is of a kind that is deduplicated.
func (d *Dedup) comparable(subject *scope.Subject, set *harvest.Settings, size int64) bool {
	return set.Deduplicate != dedupNone && subject.Status >= 200 && subject.Status < 300 && size > 0 &&
		d.Scope.Deduplicates(subject)
}

// duplicates notes of which record the document is a duplicate, in three forms: as NetarchiveSuite's tools read it, at
// the beginning of the column and with more after it; as Heritrix; and as NetarchiveSuite's documents say.
func (v *Visit) duplicates(by string, of *Capture) {
	where := fmt.Sprintf("duplicate:\"%s,%d,%s\"", of.File, of.Offset, cdx.Timestamp(of.Date))
	v.Notes = append([]string{where, "duplicate:" + by}, v.Notes...)
	v.Notes = append(v.Notes, "de"+where)
}

// duplicate finds an earlier record of the same content: in this job, then in earlier ones.
func (d *Dedup) duplicate(ctx context.Context, v *Visit) (*Capture, error) {
	fits := func(c *Capture) bool {
		switch v.Set.Deduplicate {
		case dedupURL:
			return c.URL == v.URI.URL
		case dedupEquivalent:
			return d.Canon.Canonical(c.URL) == d.Canon.Canonical(v.URI.URL)
		}
		return true
	}
	mine, err := d.seen(v.Digest)
	if err != nil || mine != nil && fits(mine) {
		return mine, err
	}
	if d.Before == nil {
		return nil, nil
	}
	if v.Set.Deduplicate == dedupURL || v.Set.Deduplicate == dedupEquivalent {
		c, err := d.earlierOf(ctx, v)
		if err != nil || c == nil || c.Digest != v.Digest || !fits(c) {
			return nil, err
		}
		return c, nil
	}
	c, err := d.Before.Content(ctx, v.Digest)
	if err != nil { // an archive that cannot be asked costs room, not the crawl
		d.Log.Warn("cannot look up earlier captures", "uri", v.URI.URL, "error", err)
		return nil, nil
	}
	return c, nil
}

// seen is what this job recorded with the digest.
func (d *Dedup) seen(digest string) (*Capture, error) {
	data, err := d.Frontier.Value(ValueDigest + digest)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	c := &Capture{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("look up digest %s: %w", digest, err)
	}
	return c, nil
}

// earlierOf is the latest capture of the URI by earlier jobs, or of this one before it was fetched again.
func (d *Dedup) earlierOf(ctx context.Context, v *Visit) (*Capture, error) {
	record, _, _, err := d.Frontier.Record(plan.KeyOf(v.URI))
	if err != nil {
		return nil, err
	}
	if len(record) > 0 {
		c := &Capture{}
		if err := json.Unmarshal(record, c); err != nil {
			return nil, fmt.Errorf("read the record of %s: %w", v.URI.URL, err)
		}
		return c, nil
	}
	if d.Before == nil {
		return nil, nil
	}
	c, err := d.Before.Latest(ctx, v.URI.URL)
	if err != nil {
		d.Log.Warn("cannot look up earlier captures", "uri", v.URI.URL, "error", err)
		return nil, nil
	}
	return c, nil
}

// remember stores what was recorded, for later URIs with the same content.
func (d *Dedup) remember(v *Visit, id string) {
	if v.Exchange == nil || v.Exchange.Response == nil || v.Dedup != frontier.Novel || v.Exchange.Truncated != "" {
		return
	}
	if !plan.Browses(d.Plan.Base()) && (!d.deduplicates(v) || v.Set.Deduplicate == dedupURL) {
		return // pages in a browser may ask for anything again
	}
	data, err := json.Marshal(capture(v, id))
	if err != nil {
		return // strings and numbers always encode
	}
	d.Frontier.SetValue(ValueDigest+v.Digest, data)
}

// capture describes what was recorded, in the form in which later crawls refer to it.
func capture(v *Visit, id string) Capture {
	x := v.Exchange
	return Capture{URL: v.URI.URL, Date: x.Begin.UTC(), RecordID: id, Digest: v.Digest, Type: x.Head.MediaType(),
		File: v.Records[0].File, Offset: v.Records[0].Offset, ETag: x.Head.ETag(), LastModified: x.Head.LastModified()}
}

// RememberRead keeps a record that was read from a WARC file, for later URIs with the same content. The text is its
// Capture's.
func (d *Dedup) RememberRead(c Capture, text []byte, whole bool, head fetch.Head, set *harvest.Settings, size int64) {
	subject := scope.Subject{URL: c.URL, Settings: set, Now: c.Date}
	answered(&subject, head, -1)
	if whole && (plan.Browses(d.Plan.Base()) || set.Deduplicate != dedupURL && d.comparable(&subject, set, size)) {
		d.Frontier.SetValue(ValueDigest+c.Digest, text)
	}
}

// recordedBefore is this crawl's own record of the same content, of a URI that is fetched once more.
func (d *Dedup) recordedBefore(v *Visit) (*Capture, error) {
	found, err := d.seen(v.Digest)
	if err != nil || found == nil {
		return nil, err
	}
	v.Dedup, v.Subject.Identical = frontier.Duplicate, true
	v.duplicates("digest", found)
	return found, nil
}

// validators asks for those of the latest capture, at most once, which it puts into earlier.
func (d *Dedup) validators(ctx context.Context, v *Visit, earlier **Capture) func() (etag, modified string) {
	asked := false
	return func() (etag, modified string) {
		if !asked {
			asked = true
			found, err := d.earlierOf(ctx, v)
			if err != nil {
				d.Log.Warn("cannot look up the latest capture", "uri", v.URI.URL, "error", err)
			}
			*earlier = found
		}
		if *earlier == nil {
			return "", ""
		}
		return (*earlier).ETag, (*earlier).LastModified
	}
}
