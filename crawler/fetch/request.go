package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast/harvest"
)

// HTTP2 says when HTTP/2 is spoken.
type HTTP2 string

// The modes, as the setting http2 has them.
const (
	HTTP2Never     HTTP2 = "never"
	HTTP2Insisted  HTTP2 = "insisted"  // if the server speaks only HTTP/2
	HTTP2Preferred HTTP2 = "preferred" // wherever a server can
)

// Request says what to fetch. For a zero field the Client's Config counts, or nothing is sent.
type Request struct {
	Target  Target
	Addrs   []netip.Addr // where the host is, in order of preference; may be empty where a proxy looks for itself
	Referer string

	Method        string   // GET (default), HEAD, POST or OPTIONS
	Form          []Field  // fields of a form, sent in the query (GET) or the body (POST); recorded without values
	Body          []byte   // of a POST without a form
	ContentType   string   // of Body
	UserAgent     string   // instead of the Config's
	Headers       []string // further lines, as "Accept-Language: da"; those that frame the message are not sent
	Compression   bool     // ask for compressed content
	ETag          string   // asks If-None-Match
	LastModified  string   // asks If-Modified-Since
	Cookie        string   // of Jar.Cookie
	HideCookies   bool     // record cookies without their values: they let one in somewhere
	Authorization string   // of Logins.Authorization; recorded without its secret

	Timeout  time.Duration // of the fetch as a whole
	Idle     time.Duration // of connecting, and of a silent server
	MaxBody  int64         // bytes of body kept; negative: no limit
	Way      Way           // of Routes.Way
	HTTP2    HTTP2         // default: insisted
	Limiters [2]*Limiter   // against which received bytes count, such as the queue's and the crawl's

	// MidFetch is asked once the head is there, with the length declared or -1; false breaks the fetch off.
	MidFetch func(head Head, contentLength int64) bool

	from string // of the Config
}

// Field is a name and a value.
type Field struct{ Name, Value string }

// acceptEncoding are the content codings asked for; Payload knows more.
const acceptEncoding = "gzip, deflate, br"

const defaultAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// complete fills in zero fields from the Config.
func (c *Client) complete(r *Request) {
	if r.Method == "" {
		r.Method = "GET"
	}
	if r.UserAgent == "" {
		r.UserAgent = c.cfg.UserAgent
	}
	if r.Timeout == 0 {
		r.Timeout = c.cfg.Timeout
	}
	if r.Idle == 0 {
		r.Idle = c.cfg.Idle
	}
	if r.MaxBody == 0 {
		r.MaxBody = c.cfg.MaxBody
	}
	if r.HTTP2 == "" {
		r.HTTP2 = HTTP2Insisted
	}
	r.from = c.cfg.From
	if len(r.Form) > 0 && r.Method == "POST" {
		r.Body, r.ContentType = nil, "application/x-www-form-urlencoded"
	}
}

// check refuses what cannot be sent.
func (r *Request) check() error {
	if r.Method != "GET" && r.Method != "HEAD" && r.Method != "POST" && r.Method != "OPTIONS" {
		return fmt.Errorf("request of %s: method %.20q", r.Target.Authority, r.Method)
	}
	if r.Target.Host == "" {
		return errors.New("the request has no URL")
	}
	return nil
}

// Two forms of a request.
type form int

const (
	onWire   form = iota
	inRecord      // without secrets, and as the server behind a proxy sees it
)

// secret tells whether the request in the record is not the one on the wire.
func (r *Request) secret() bool { return r.absolute() || len(r.hides()) > 0 }

// hides lists what the recorded request has without its value: names of headers, and "form".
func (r *Request) hides() (names []string) {
	for _, h := range r.Headers {
		if name, _, _ := strings.Cut(h, ":"); harvest.SecretHeader(h) && !framesMessage(name) {
			names = append(names, name)
		}
	}
	if r.HideCookies && r.Cookie != "" {
		names = append(names, "Cookie")
	}
	if r.Authorization != "" {
		names = append(names, "Authorization")
	}
	if len(r.Form) > 0 {
		names = append(names, "form")
	}
	return names
}

// shown returns a header's value in the form in which it is recorded.
func (r *Request) shown(header, value string, f form) string {
	if name, _, _ := strings.Cut(header, ":"); f == inRecord && !hidden(name) && harvest.SecretHeader(header) {
		return redacted
	}
	return value // or Redacted hides it
}

// hiddenCookies are the cookies of a Cookie header without their values.
func hiddenCookies(header string) string {
	var out []string
	for c := range strings.SplitSeq(header, ";") {
		name, _, named := strings.Cut(strings.TrimSpace(c), "=")
		if named {
			name += "=" + redacted
		} else {
			name = redacted
		}
		out = append(out, name)
	}
	return strings.Join(out, "; ")
}

// absolute tells whether the request line carries the whole URL, for a proxy.
func (r *Request) absolute() bool {
	return r.Way.Proxy != nil && r.Way.Proxy.scheme == "http" && r.Target.Scheme == "http"
}

// bytes is the request as it is sent or recorded.
func (r *Request) bytes(f form) []byte {
	b := make([]byte, 0, 512)
	body := r.Body
	b = append(b, r.Method...)
	b = append(b, ' ')
	if f == onWire && r.absolute() {
		b = append(append(b, "http://"...), r.Target.Authority...)
	}
	b = append(b, r.Target.Path...)
	if len(r.Form) > 0 {
		encoded := encodeForm(r.Form, f)
		if r.Method == "POST" {
			body = encoded
		} else {
			sep := byte('?')
			if strings.Contains(r.Target.Path, "?") {
				sep = '&'
			}
			b = append(append(b, sep), encoded...)
		}
	}
	b = append(b, " HTTP/1.1\r\n"...)
	b = appendField(b, "Host", r.Target.Authority)
	b = appendField(b, "User-Agent", r.UserAgent)
	b = appendField(b, "From", r.from)
	if !(strings.HasPrefix(r.Referer, "https:") && r.Target.Scheme == "http") {
		b = appendField(b, "Referer", r.Referer)
	}
	accept, encoding := defaultAccept, ""
	if r.Compression {
		encoding = acceptEncoding
	}
	for _, h := range r.Headers {
		name, _, _ := strings.Cut(h, ":")
		switch {
		case strings.EqualFold(name, "Accept"):
			accept = ""
		case strings.EqualFold(name, "Accept-Encoding"):
			encoding = ""
		}
	}
	b = appendField(b, "Accept", accept)
	b = appendField(b, "Accept-Encoding", encoding)
	for _, h := range r.Headers {
		if name, value, ok := strings.Cut(h, ":"); ok && token(name) && !framesMessage(name) {
			b = appendField(b, name, r.shown(h, strings.TrimSpace(value), f))
		}
	}
	b = appendField(b, "If-None-Match", r.ETag)
	b = appendField(b, "If-Modified-Since", r.LastModified)
	if cookies := r.Cookie; f == inRecord && r.HideCookies && cookies != "" {
		b = appendField(b, "Cookie", hiddenCookies(cookies))
	} else {
		b = appendField(b, "Cookie", cookies)
	}
	b = appendField(b, "Authorization", r.Authorization)
	if f == onWire && r.absolute() {
		b = appendField(b, "Proxy-Authorization", r.Way.Proxy.authorization())
	}
	if r.Method == "POST" {
		b = appendField(b, "Content-Type", r.ContentType)
		b = appendField(b, "Content-Length", strconv.Itoa(len(body)))
	}
	b = append(b, "\r\n"...)
	if r.Method == "POST" {
		b = append(b, body...)
	}
	if f == inRecord {
		return Redacted(b)
	}
	return b
}

// appendField adds a header line, unless the value is empty or would break out of its line.
func appendField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	for i := range len(value) {
		if value[i] < ' ' && value[i] != '\t' || value[i] == 0x7f {
			return b
		}
	}
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

// encodeForm is the form as application/x-www-form-urlencoded, in the record without values.
func encodeForm(fields []Field, f form) []byte {
	var b []byte
	for i, field := range fields {
		if i > 0 {
			b = append(b, '&')
		}
		b = append(append(b, url.QueryEscape(field.Name)...), '=')
		if f == inRecord {
			b = append(b, redacted...)
		} else {
			b = append(b, url.QueryEscape(field.Value)...)
		}
	}
	return b
}

// framesMessage tells whether a header is the fetch's own business.
func framesMessage(name string) bool {
	switch strings.ToLower(name) {
	case "host", "user-agent", "content-length", "content-type", "transfer-encoding", "connection", "keep-alive", "te",
		"trailer", "upgrade", "expect",
		"proxy-connection", "proxy-authorization":
		return true
	}
	return false
}

// token tells whether s can be the name of a header.
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// redacted replaces a secret in records.
const redacted = "redacted"

// hidden tells whether a header carries a secret.
func hidden(name string) bool {
	return strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "Proxy-Authorization")
}

// Redacted returns a request as it may be recorded: what follows the scheme in Authorization and Proxy-Authorization
// is replaced. A request without these is returned as it is.
func Redacted(request []byte) []byte {
	var out []byte
	from := 0
	for at := 0; at < len(request); {
		end := bytes.IndexByte(request[at:], '\n')
		if end < 0 {
			break
		}
		line := bytes.TrimRight(request[at:at+end], "\r")
		next := at + end + 1
		if len(line) == 0 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte{':'}); ok && hidden(string(bytes.TrimSpace(name))) {
			scheme, _, _ := bytes.Cut(bytes.TrimSpace(value), []byte{' '})
			if len(scheme) > 0 && !bytes.EqualFold(scheme, []byte("Basic")) &&
				!bytes.EqualFold(scheme, []byte("Digest")) && !bytes.EqualFold(scheme, []byte("Bearer")) {
				scheme = nil // it may be the secret itself
			}
			out = append(out, request[from:at+len(name)+1]...)
			out = append(out, ' ')
			if len(scheme) > 0 {
				out = append(append(out, scheme...), ' ')
			}
			out = append(out, redacted...)
			from = at + len(line)
			for next < len(request) && (request[next] == ' ' || request[next] == '\t') { // a folded value
				end := bytes.IndexByte(request[next:], '\n')
				if end < 0 {
					end = len(request) - next - 1
				}
				next += end + 1
				from = next
				if from >= 2 && bytes.HasSuffix(request[:from], []byte("\r\n")) {
					from -= 2
				} else if from > 0 && request[from-1] == '\n' {
					from--
				}
			}
		}
		at = next
	}
	if out == nil {
		return request
	}
	return append(out, request[from:]...)
}
