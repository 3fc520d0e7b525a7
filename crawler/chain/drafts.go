package chain

import (
	"bytes"
	"io"
	"strings"

	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/warc"
)

func dnsDraft(v *Visit, id string) warc.Draft {
	a := v.Answer
	v.Digest = fetch.Digest(a.Text)
	d := warc.Draft{Type: warc.TypeResponse, TargetURI: v.URI.URL, ContentType: "text/dns", ID: id, Date: a.Begin,
		Block: bytes.NewReader(a.Text), Size: int64(len(a.Text)), BlockDigest: v.Digest, PayloadDigest: v.Digest}
	if a.Server.IsValid() {
		d.Fields = append(d.Fields, warc.Field{Name: "WARC-IP-Address", Value: a.Server.WithZone("").String()})
	}
	return d
}

func responseDraft(v *Visit, id string) warc.Draft {
	x := v.Exchange
	d := warc.Draft{Type: warc.TypeResponse, TargetURI: v.URI.URL, ContentType: "application/http; msgtype=response",
		ID: id, Date: x.Begin, Fields: wireFields(x),
		Block: x.Response.Reader(), Size: x.Response.Size(), BlockDigest: x.Response.BlockDigest(),
		PayloadDigest: v.Digest}
	if x.Truncated != "" {
		d.Fields = append(d.Fields, warc.Field{Name: "WARC-Truncated", Value: x.Truncated})
	}
	return d
}

// rawType is the content type of what came where it is no HTTP.
const rawType = "application/octet-stream"

// IsRaw reports whether a record is what came where it was no HTTP: the first of its URI.
func IsRaw(rec *warc.Record) bool {
	return rec.Type == warc.TypeMetadata && rec.Header.Get("Content-Type") == rawType
}

// rawDraft records what came where it is no HTTP. It is not a response, which readers would take for HTTP.
func rawDraft(v *Visit, id string) warc.Draft {
	x := v.Exchange
	return warc.Draft{Type: warc.TypeMetadata, TargetURI: v.URI.URL, ContentType: rawType, ID: id,
		Date: x.Begin, Fields: append(wireFields(x), warc.Field{Name: "WARC-Truncated", Value: "unspecified"}),
		Block: bytes.NewReader(x.Unreadable), Size: int64(len(x.Unreadable))}
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

// FieldHidden is the field of a request record that names what was recorded without its value because it gives access
// somewhere: headers, and "form" for a form that was sent.
const FieldHidden = "Holdfast-Redacted"

func requestDraft(v *Visit, concurrent string) warc.Draft {
	x := v.Exchange
	fields := append(wireFields(x), warc.Field{Name: "WARC-Concurrent-To", Value: concurrent})
	if len(x.Hidden) > 0 {
		fields = append(fields, warc.Field{Name: FieldHidden, Value: strings.Join(x.Hidden, ", ")})
	}
	return warc.Draft{Type: warc.TypeRequest, TargetURI: v.URI.URL, Date: x.Begin,
		ContentType: "application/http; msgtype=request", Fields: fields,
		Block: bytes.NewReader(x.Request), Size: int64(len(x.Request))}
}

// markPage writes the page that records belong to into them.
func (v *Visit) markPage(drafts []warc.Draft) {
	if v.Page.ID == "" {
		return
	}
	for i := range drafts {
		drafts[i].Fields = append(drafts[i].Fields, warc.Field{Name: "WARC-Page-ID", Value: v.Page.ID})
	}
}

// revisitDraft records a document whose content is in another record: only its header is written.
func revisitDraft(v *Visit, id string, original *Capture) warc.Draft {
	x := v.Exchange
	profile, digest := warc.ProfileIdenticalDigest, v.Digest
	if v.Dedup == frontier.NotModified {
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
	return warc.Draft{Type: warc.TypeRevisit, TargetURI: v.URI.URL, ContentType: "application/http; msgtype=response",
		ID: id, Date: x.Begin,
		Fields: fields, Block: bytes.NewReader(head), Size: int64(len(head)), PayloadDigest: digest}
}
