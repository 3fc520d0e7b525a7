package crawler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"holdfast/cdx"
	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
	"holdfast/harvest"
	"holdfast/warc"
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

// Earlier finds what earlier jobs archived. It answers nil where there is nothing, and may be asked by several goroutines.
type Earlier interface {
	// Latest returns the latest capture of a URL that has a document, with its validators.
	Latest(ctx context.Context, url string) (*Capture, error)
	// Content returns a capture with that payload digest.
	Content(ctx context.Context, digest string) (*Capture, error)
}

// What a document is compared with, by the setting deduplicate.
const (
	dedupNone       = "none"
	dedupURL        = "url"
	dedupEquivalent = "equivalent"
)

// original is the record that has what was fetched, if it is recorded as a revisit of that; else nil.
func (w *worker) original(ctx context.Context, v *visit) (*Capture, error) {
	if (v.status == 304 || v.unchanged) && v.earlier != nil {
		v.dedup, v.digest = frontier.NotModified, digestOf(v)
		v.duplicates("server-not-modified", v.earlier)
		return v.earlier, nil
	}
	if v.part.again {
		return w.recordedBefore(v)
	}
	if !w.deduplicates(v) {
		return nil, nil
	}
	found, err := w.duplicate(ctx, v)
	if err != nil || found == nil {
		return nil, err
	}
	v.dedup, v.subject.Identical = frontier.Duplicate, true
	v.duplicates("digest", found)
	return found, nil
}

// digestOf is that of what the URI has: where the rest was not fetched as it did not change, that of the earlier capture.
func digestOf(v *visit) string {
	if v.unchanged {
		return v.earlier.Digest
	}
	return v.digest
}

// deduplicates tells whether the document is one that is compared with earlier ones.
func (w *worker) deduplicates(v *visit) bool {
	return v.exchange.Truncated == "" && !isPrerequisite(v.uri) && w.comparable(v.subject, v.set, v.exchange.BodySize)
}

// comparable tells whether a whole document that was fetched is one of those that are compared.
func (c *Crawl) comparable(subject *scope.Subject, set *harvest.Settings, size int64) bool {
	return set.Deduplicate != dedupNone && subject.Status >= 200 && subject.Status < 300 && size > 0 && c.scope.Deduplicates(subject)
}

// duplicates notes of which record the document is a duplicate, in three forms: as NetarchiveSuite's tools read it, at the beginning of the
// column and with more after it; as Heritrix; and as NetarchiveSuite's documents say.
func (v *visit) duplicates(by string, of *Capture) {
	where := fmt.Sprintf("duplicate:\"%s,%d,%s\"", of.File, of.Offset, cdx.Timestamp(of.Date))
	v.notes = append([]string{where, "duplicate:" + by}, v.notes...)
	v.notes = append(v.notes, "de"+where)
}

// duplicate finds an earlier record of the same content: in this job, then in earlier ones.
func (w *worker) duplicate(ctx context.Context, v *visit) (*Capture, error) {
	fits := func(c *Capture) bool {
		switch v.set.Deduplicate {
		case dedupURL:
			return c.URL == v.uri.URL
		case dedupEquivalent:
			return w.canon.Canonical(c.URL) == w.canon.Canonical(v.uri.URL)
		}
		return true
	}
	mine, err := w.seen(v.digest)
	if err != nil || mine != nil && fits(mine) {
		return mine, err
	}
	if w.cfg.Earlier == nil {
		return nil, nil
	}
	if v.set.Deduplicate == dedupURL || v.set.Deduplicate == dedupEquivalent {
		c, err := w.earlierOf(ctx, v)
		if err != nil || c == nil || c.Digest != v.digest || !fits(c) {
			return nil, err
		}
		return c, nil
	}
	c, err := w.cfg.Earlier.Content(ctx, v.digest)
	if err != nil { // an archive that cannot be asked costs room, not the crawl
		w.log.Warn("earlier captures are not known", "uri", v.uri.URL, "error", err)
		return nil, nil
	}
	return c, nil
}

// seen is what this job recorded with the digest.
func (w *worker) seen(digest string) (*Capture, error) {
	data, err := w.frontier.Value(valueDigest + digest)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	c := &Capture{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("read what has digest %s: %w", digest, err)
	}
	return c, nil
}

// earlierOf is the latest capture of the URI by earlier jobs, or of this one before it was fetched again.
func (w *worker) earlierOf(ctx context.Context, v *visit) (*Capture, error) {
	record, _, _, err := w.frontier.Record(keyOf(v.uri))
	if err != nil {
		return nil, err
	}
	if len(record) > 0 {
		c := &Capture{}
		if err := json.Unmarshal(record, c); err != nil {
			return nil, fmt.Errorf("read the record of %s: %w", v.uri.URL, err)
		}
		return c, nil
	}
	if w.cfg.Earlier == nil {
		return nil, nil
	}
	c, err := w.cfg.Earlier.Latest(ctx, v.uri.URL)
	if err != nil {
		w.log.Warn("earlier captures are not known", "uri", v.uri.URL, "error", err)
		return nil, nil
	}
	return c, nil
}

// remember keeps what was recorded, for later URIs with the same content.
func (w *worker) remember(v *visit, id string) {
	if v.exchange == nil || v.dedup != frontier.Novel || v.exchange.Truncated != "" {
		return
	}
	if !browses(w.base()) && (!w.deduplicates(v) || v.set.Deduplicate == dedupURL) {
		return // pages in a browser may ask for anything again
	}
	data, err := json.Marshal(w.capture(v, id))
	if err != nil {
		return // strings and numbers always encode
	}
	w.frontier.SetValue(valueDigest+v.digest, data)
}

// capture is what was recorded, as later crawls may refer to it.
func (w *worker) capture(v *visit, id string) Capture {
	x := v.exchange
	return Capture{URL: v.uri.URL, Date: x.Begin.UTC(), RecordID: id, Digest: v.digest, Type: x.Head.MediaType(), File: v.records[0].File, Offset: v.records[0].Offset,
		ETag: x.Head.ETag(), LastModified: x.Head.LastModified()}
}

// revisitDraft records that what was fetched is what another record has: its head alone is written.
func revisitDraft(v *visit, id string, original *Capture) warc.Draft {
	x := v.exchange
	profile, digest := warc.ProfileIdenticalDigest, v.digest
	if v.dedup == frontier.NotModified {
		profile, digest = warc.ProfileNotModified, original.Digest
	}
	head := make([]byte, x.Response.HeadSize())
	if _, err := x.Response.ReadAt(head, 0); err != nil && err != io.EOF {
		head = nil
	}
	fields := append(wireFields(x), warc.Field{Name: "WARC-Profile", Value: profile},
		warc.Field{Name: "WARC-Refers-To-Target-URI", Value: original.URL},
		warc.Field{Name: "WARC-Refers-To-Date", Value: warc.FormatDate(original.Date)})
	if original.RecordID != "" {
		fields = append(fields, warc.Field{Name: "WARC-Refers-To", Value: original.RecordID})
	}
	if profile == warc.ProfileIdenticalDigest { // the body that was received is not in it
		fields = append(fields, warc.Field{Name: "WARC-Truncated", Value: "length"})
	}
	return warc.Draft{Type: warc.TypeRevisit, TargetURI: v.uri.URL, ContentType: "application/http; msgtype=response", ID: id, Date: x.Begin,
		Fields: fields, Block: bytes.NewReader(head), Size: int64(len(head)), PayloadDigest: digest}
}
