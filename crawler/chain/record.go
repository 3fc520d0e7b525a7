package chain

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
	"holdfast/warc"
)

// Record is the stage that writes WARC records. It is one worker's.
type Record struct {
	scope    *scope.Scope
	dedup    *Dedup
	files    *warc.Files
	outlinks []byte
}

// Run writes response, request and metadata into one WARC file, one after another. The metadata record comes last, so
// that a URI is complete once its metadata record is there. What the settings do not keep is not written.
func (r *Record) Run(ctx context.Context, v *Visit) (Step, error) {
	var drafts []warc.Draft
	id := warc.NewID()
	switch {
	case v.Answer != nil:
		drafts = append(drafts, dnsDraft(v, id))
	case v.Exchange.Response == nil:
		drafts = append(drafts, rawDraft(v, id), requestDraft(v, id))
	default:
		v.Digest = v.Exchange.Response.PayloadDigest()
		r.fetched(ctx, v)
		if !r.keepsType(v) {
			return Next, nil
		}
		notes := v.Notes
		original, err := r.dedup.original(ctx, v)
		if err != nil {
			return Over, err
		}
		if !r.keeps(v, notes) {
			return Next, nil
		}
		if original != nil {
			drafts = append(drafts, revisitDraft(v, id, original), requestDraft(v, id))
		} else {
			drafts = append(drafts, responseDraft(v, id), requestDraft(v, id))
		}
	}
	if v.Page.Drafts != nil {
		drafts = append(drafts, v.Page.Drafts(id)...)
	}
	drafts = append(drafts, r.metadataDraft(v, id))
	v.markPage(drafts)
	positions, err := r.files.Write(drafts...)
	if err != nil {
		return Over, fmt.Errorf("record: %w", err)
	}
	v.Records, v.recordID = positions, id
	r.dedup.remember(v, id)
	return Next, nil
}

// fetched copies the results of the fetch into the URI's subject.
func (r *Record) fetched(ctx context.Context, v *Visit) {
	x := v.Exchange
	answered(v.Subject, x.Head, declared(x.Head))
	v.Subject.Received, v.Subject.Size, v.Subject.Digest, v.Subject.IP = true, x.BodySize, v.Digest, x.IP
	var earlier *Capture
	v.Subject.Earlier = r.dedup.validators(ctx, v, &earlier)
}

// declared is the length that a head declares, -1: none.
func declared(head fetch.Head) int64 {
	if head.Get("Transfer-Encoding") != "" {
		return -1
	}
	n, _ := head.ContentLength()
	return n
}

// keeps reports whether the document is to be recorded; the record rules also see what it duplicates. If not, notes
// are the annotations from before that was known. Prerequisites are always recorded.
func (r *Record) keeps(v *Visit, notes []string) bool {
	if IsPrerequisite(v.URI) {
		return true
	}
	keep, why := r.scope.Keep(v.Subject)
	if !keep {
		v.Notes = notes
		v.discard(why)
	}
	return keep
}

// keepsType tells whether such documents as that which was fetched are to be recorded.
func (r *Record) keepsType(v *Visit) bool {
	if IsPrerequisite(v.URI) {
		return true
	}
	if v.Set.MetaRobots == metaObey && v.Links.Robots&extract.NoIndex != 0 {
		v.discard("noindex")
		return false
	}
	keep, why := r.scope.KeepsType(v.Subject)
	if !keep {
		v.discard(why)
	}
	return keep
}

// discard notes that the document is not recorded, and why.
func (v *Visit) discard(why string) {
	v.Notes, v.Dedup = append(v.Notes, "discarded:"+why), frontier.Discarded
}

// Names of the metadata record's fields, from which a crawl that is opened after a crash learns what it did.
const (
	fieldSeed       = "seed"
	FieldVia        = "via"
	FieldHops       = "hopsFromSeed"
	FieldSource     = "sourceTag"
	FieldFetchTime  = "fetchTimeMs"
	fieldCharset    = "charsetForLinkExtraction"
	FieldAnnotation = "annotations"
	FieldWorker     = "workerNumber"
	FieldBodySize   = "bodySize" // received, of a revisit, whose record does not have the body
	FieldOutlink    = "outlink"
	FieldKey        = "frontierKey" // by which the frontier knows the URI, where that is not the URI
)

// metadataDraft describes how the URI was found and what was found in it. After a crash, the outcome of a URI that
// the frontier did not learn is taken from it.
func (r *Record) metadataDraft(v *Visit, concurrent string) warc.Draft {
	b := r.outlinks[:0]
	line := func(name, value string) {
		b = append(b, name...)
		b = append(b, ':', ' ')
		b = append(b, value...)
		b = append(b, '\r', '\n')
	}
	u := v.URI
	if u.Via == "" {
		line(fieldSeed, "")
	} else {
		line(FieldVia, u.Via)
		line(FieldHops, u.Path)
	}
	line(FieldSource, u.Source)
	begin, took := v.times()
	line(FieldFetchTime, strconv.FormatInt(took.Milliseconds(), 10))
	line(FieldWorker, strconv.Itoa(v.Worker))
	if v.Dedup == frontier.Duplicate || v.Dedup == frontier.NotModified {
		if size := v.Exchange.Response.Size() - v.Exchange.Response.HeadSize(); size > 0 {
			line(FieldBodySize, strconv.FormatInt(size, 10))
		}
	}
	if v.Links.Charset != "" {
		line(fieldCharset, v.Links.Charset)
	}
	if u.Key != "" {
		line(FieldKey, u.Key)
	}
	if notes := v.annotations(); len(notes) > 0 {
		line(FieldAnnotation, strings.Join(notes, ","))
	}
	for _, l := range v.Links.Links {
		b = append(b, FieldOutlink...)
		b = append(b, ':', ' ')
		b = append(b, l.URL...)
		b = append(b, ' ', l.Hop, ' ')
		b = append(b, l.Context...)
		b = append(b, '\r', '\n')
	}
	r.outlinks = b
	return warc.Draft{Type: warc.TypeMetadata, TargetURI: u.URL, ContentType: "application/warc-fields", Date: begin,
		Fields: []warc.Field{{Name: "WARC-Concurrent-To", Value: concurrent}}, Block: bytes.NewReader(b),
		Size: int64(len(b))}
}
