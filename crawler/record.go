package crawler

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/scope"
	"holdfast/warc"
)

// maxExtract is how much of a document is looked through for links, unpacked.
const maxExtract = 10 << 20

// extract finds the links of what was fetched.
func (w *worker) extract(_ context.Context, v *visit) (step, error) {
	x := v.exchange
	if x == nil {
		return next, nil
	}
	doc := extract.Document{URL: v.uri.URL, ContentType: x.Head.Get("Content-Type"), Location: x.Head.Get("Location"), Refresh: x.Head.Get("Refresh")}
	if wantsBody(doc.ContentType) && x.BodySize > 0 {
		body, err := x.Payload(maxExtract)
		if err != nil {
			v.notes = append(v.notes, "undecodable")
		}
		doc.Body = body
	}
	v.links = w.extractor.Links(doc)
	if v.links.Dropped > 0 {
		v.notes = append(v.notes, "dol:"+strconv.Itoa(v.links.Dropped))
	}
	if v.links.Charset != "" {
		v.notes = append(v.notes, "usingCharsetInHTML:"+v.links.Charset)
	}
	return next, nil
}

// wantsBody spares reading bodies that hold no links.
func wantsBody(contentType string) bool {
	mt := extract.MediaType(contentType)
	return mt == "" || strings.HasPrefix(mt, "text/") || strings.Contains(mt, "xml") || strings.Contains(mt, "html")
}

// record writes response, request and metadata into one WARC file, one after another; the metadata record
// comes last, so that records up to a metadata record are all there is of a URI.
func (w *worker) record(_ context.Context, v *visit) (step, error) {
	var drafts []warc.Draft
	id := warc.NewID()
	if v.answer != nil {
		drafts = append(drafts, dnsDraft(v, id))
	} else {
		drafts = append(drafts, responseDraft(v, id), requestDraft(v, id))
	}
	drafts = append(drafts, w.metadataDraft(v, id))
	positions, err := w.files.Write(drafts...)
	if err != nil {
		return over, fmt.Errorf("record: %w", err)
	}
	v.records = positions
	return next, nil
}

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
	v.digest = x.Response.PayloadDigest()
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

// annotations are the notes, and the number of tries if it took more than one.
func (v *visit) annotations() []string {
	if v.uri.Tries > 0 {
		return append([]string{strconv.Itoa(v.uri.Tries+1) + "t"}, v.notes...)
	}
	return v.notes
}

// robotsBody is the part of a robots.txt that is read.
func (v *visit) robotsBody() []byte {
	if v.exchange == nil || v.status < 200 || v.status > 299 {
		return nil
	}
	body, err := v.exchange.Payload(scope.MaxRobots)
	if err != nil && len(body) == 0 {
		return nil
	}
	return body
}
