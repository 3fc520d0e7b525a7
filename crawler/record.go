package crawler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/scope"
	"holdfast/warc"
)

// record writes response, request and metadata into one WARC file, one after another; the metadata record
// comes last, so that records up to a metadata record are all there is of a URI. What the settings do not keep is not written.
func (w *worker) record(ctx context.Context, v *visit) (step, error) {
	var drafts []warc.Draft
	id := warc.NewID()
	if v.answer != nil {
		drafts = append(drafts, dnsDraft(v, id))
	} else {
		v.digest = v.exchange.Response.PayloadDigest()
		w.fetched(ctx, v)
		if !w.keepsType(v) {
			return next, nil
		}
		notes := v.notes
		original, err := w.original(ctx, v)
		if err != nil {
			return over, err
		}
		if !w.keeps(v, notes) {
			return next, nil
		}
		if original != nil {
			drafts = append(drafts, revisitDraft(v, id, original), requestDraft(v, id))
		} else {
			drafts = append(drafts, responseDraft(v, id), requestDraft(v, id))
		}
	}
	drafts = append(drafts, v.renderedDrafts(id)...)
	drafts = append(drafts, w.metadataDraft(v, id))
	v.markPage(drafts)
	positions, err := w.files[w.number%len(w.files)].Write(drafts...)
	if err != nil {
		return over, fmt.Errorf("record: %w", err)
	}
	v.records, v.recordID = positions, id
	w.remember(v, id)
	return next, nil
}

// fetched puts what was fetched into the URI's subject.
func (w *worker) fetched(ctx context.Context, v *visit) {
	x := v.exchange
	answered(v.subject, x.Head, declared(x.Head))
	v.subject.Received, v.subject.Size, v.subject.Digest, v.subject.IP = true, x.BodySize, v.digest, x.IP
	var earlier *Capture
	v.subject.Earlier = w.validators(ctx, v, &earlier)
}

// declared is the length that a head declares, -1: none.
func declared(head fetch.Head) int64 {
	n, err := strconv.ParseInt(head.Get("Content-Length"), 10, 64)
	if err != nil || n < 0 || head.Get("Transfer-Encoding") != "" {
		return -1
	}
	return n
}

// keeps tells whether what was fetched is to be recorded, also by what it is a duplicate of; if not, notes are those from before that was
// known. Prerequisites always are.
func (w *worker) keeps(v *visit, notes []string) bool {
	if isPrerequisite(v.uri) {
		return true
	}
	keep, why := w.scope.Keep(v.subject)
	if !keep {
		v.notes = notes
		v.discard(why)
	}
	return keep
}

// keepsType tells whether such documents as that which was fetched are to be recorded.
func (w *worker) keepsType(v *visit) bool {
	if isPrerequisite(v.uri) {
		return true
	}
	if v.set.MetaRobots == metaObey && v.links.Robots&extract.NoIndex != 0 {
		v.discard("noindex")
		return false
	}
	keep, why := w.scope.KeepsType(v.subject)
	if !keep {
		v.discard(why)
	}
	return keep
}

// discard says that what was fetched is not recorded, and why.
func (v *visit) discard(why string) {
	v.notes, v.dedup = append(v.notes, "discarded:"+why), frontier.Discarded
}

// metaObey is the value of meta_robots that obeys.
const metaObey = "obey"

func dnsDraft(v *visit, id string) warc.Draft {
	a := v.answer
	v.digest = fetch.Digest(a.Text)
	d := warc.Draft{Type: warc.TypeResponse, TargetURI: v.uri.URL, ContentType: "text/dns", ID: id, Date: a.Begin,
		Block: bytes.NewReader(a.Text), Size: int64(len(a.Text)), BlockDigest: v.digest, PayloadDigest: v.digest}
	if a.Server.IsValid() {
		d.Fields = append(d.Fields, warc.Field{Name: "WARC-IP-Address", Value: a.Server.WithZone("").String()})
	}
	return d
}

func responseDraft(v *visit, id string) warc.Draft {
	x := v.exchange
	d := warc.Draft{Type: warc.TypeResponse, TargetURI: v.uri.URL, ContentType: "application/http; msgtype=response", ID: id, Date: x.Begin,
		Fields: wireFields(x),
		Block:  x.Response.Reader(), Size: x.Response.Size(), BlockDigest: x.Response.BlockDigest(), PayloadDigest: v.digest}
	if x.Truncated != "" {
		d.Fields = append(d.Fields, warc.Field{Name: "WARC-Truncated", Value: x.Truncated})
	}
	return d
}

// wireFields say how the server was reached: its address, unless a proxy stood before it, the protocols and the cipher.
func wireFields(x *fetch.Exchange) []warc.Field {
	fields := make([]warc.Field, 0, 6)
	if x.IP.IsValid() {
		fields = append(fields, warc.Field{Name: "WARC-IP-Address", Value: x.IP.String()})
	}
	for _, p := range x.Protocols {
		fields = append(fields, warc.Field{Name: "WARC-Protocol", Value: p})
	}
	if x.TLS != nil {
		fields = append(fields, warc.Field{Name: "WARC-Cipher-Suite", Value: x.TLS.Cipher})
	}
	return fields
}

func requestDraft(v *visit, concurrent string) warc.Draft {
	x := v.exchange
	return warc.Draft{Type: warc.TypeRequest, TargetURI: v.uri.URL, ContentType: "application/http; msgtype=request", Date: x.Begin,
		Fields: append(wireFields(x), warc.Field{Name: "WARC-Concurrent-To", Value: concurrent}),
		Block:  bytes.NewReader(x.Request), Size: int64(len(x.Request))}
}

// Names of the metadata record's fields.
const (
	fieldSeed       = "seed"
	fieldVia        = "via"
	fieldHops       = "hopsFromSeed"
	fieldSource     = "sourceTag"
	fieldFetchTime  = "fetchTimeMs"
	fieldCharset    = "charsetForLinkExtraction"
	fieldAnnotation = "annotations"
	fieldWorker     = "workerNumber"
	fieldOutlink    = "outlink"
	fieldKey        = "frontierKey" // by which the frontier knows the URI, where that is not the URI
)

// metadataDraft writes down how the URI was found and what was found in it. From it, after a
// crash, the outcome of a URI can be told though the frontier did not learn it.
func (w *worker) metadataDraft(v *visit, concurrent string) warc.Draft {
	b := w.outlinks[:0]
	line := func(name, value string) {
		b = append(b, name...)
		b = append(b, ':', ' ')
		b = append(b, value...)
		b = append(b, '\r', '\n')
	}
	u := v.uri
	if u.Via == "" {
		line(fieldSeed, "")
	} else {
		line(fieldVia, u.Via)
		line(fieldHops, u.Path)
	}
	line(fieldSource, u.Source)
	begin, took := v.times()
	line(fieldFetchTime, strconv.FormatInt(took.Milliseconds(), 10))
	line(fieldWorker, strconv.Itoa(w.number))
	if v.links.Charset != "" {
		line(fieldCharset, v.links.Charset)
	}
	if u.Key != "" {
		line(fieldKey, u.Key)
	}
	if notes := v.annotations(); len(notes) > 0 {
		line(fieldAnnotation, strings.Join(notes, ","))
	}
	for _, l := range v.links.Links {
		b = append(b, fieldOutlink...)
		b = append(b, ':', ' ')
		b = append(b, l.URL...)
		b = append(b, ' ', l.Hop, ' ')
		b = append(b, l.Context...)
		b = append(b, '\r', '\n')
	}
	w.outlinks = b
	return warc.Draft{Type: warc.TypeMetadata, TargetURI: u.URL, ContentType: "application/warc-fields", Date: begin,
		Fields: []warc.Field{{Name: "WARC-Concurrent-To", Value: concurrent}}, Block: bytes.NewReader(b), Size: int64(len(b))}
}

func (v *visit) times() (begin time.Time, took time.Duration) {
	switch {
	case v.exchange != nil:
		return v.exchange.Begin, v.exchange.Duration
	case v.answer != nil:
		return v.answer.Begin, v.answer.Duration
	}
	return time.Time{}, 0
}

// robotsBody is the part of a robots.txt that is read, or that it cannot be.
func (v *visit) robotsBody() (body []byte, unreadable bool) {
	if v.exchange == nil || v.status < 200 || v.status > 299 {
		return nil, false
	}
	body, err := v.exchange.Payload(scope.MaxRobots)
	if err == nil || errors.Is(err, fetch.ErrCoding) {
		return body, false
	}
	cutOff := v.exchange.Truncated != "" && errors.Is(err, io.ErrUnexpectedEOF) // what came counts
	return body, !cutOff
}
