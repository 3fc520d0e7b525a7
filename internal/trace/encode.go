package trace

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// What is sent: ExportTraceServiceRequest of OTLP, in the JSON that the specification gives it: ids are hexadecimal,
// numbers of 64 bits are texts.
type (
	export struct {
		Resources []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource resource     `json:"resource"`
		Scopes   []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		ParentID   string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Begin      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes,omitempty"`
		Status     *status     `json:"status,omitempty"`
	}
	status struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text   *string `json:"stringValue,omitempty"`
		Number *string `json:"intValue,omitempty"`
		Is     *bool   `json:"boolValue,omitempty"`
	}
)

const statusError = 2

func (t *Tracer) encoded(batch []record) []byte {
	of := resource{attributes([]Attribute{{"service.name", t.cfg.Service}, {"service.instance.id", t.cfg.Node},
		{"service.version", t.cfg.Version}})}
	spans := make([]span, len(batch))
	for i := range batch {
		r := &batch[i]
		spans[i] = span{TraceID: hex.EncodeToString(r.trace[:]), SpanID: hex.EncodeToString(r.id[:]),
			Name: valid(r.name), Kind: r.kind, Begin: nanoseconds(r.begin), End: nanoseconds(r.end),
			Attributes: attributes(r.attributes)}
		if r.parent != [8]byte{} {
			spans[i].ParentID = hex.EncodeToString(r.parent[:])
		}
		if r.failed {
			spans[i].Status = &status{valid(r.why), statusError}
		}
	}
	text, err := json.Marshal(export{[]resourceSpans{{of, []scopeSpans{{scope{"holdfast"}, spans}}}}})
	if err != nil {
		panic(err) // texts, numbers and lists of them can be encoded
	}
	return text
}

func nanoseconds(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }

func attributes(all []Attribute) (out []attribute) {
	for _, a := range all {
		one := attribute{Key: a.Key}
		switch v := a.Value.(type) {
		case string:
			text := valid(v)
			one.Value.Text = &text
		case int:
			text := strconv.Itoa(v)
			one.Value.Number = &text
		case int64:
			text := strconv.FormatInt(v, 10)
			one.Value.Number = &text
		case bool:
			one.Value.Is = &v
		default:
			continue
		}
		out = append(out, one)
	}
	return out
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
