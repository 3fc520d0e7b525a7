package warc

import (
	"fmt"
	"strconv"
	"strings"
)

// HTTPHead is the start line and the header of the HTTP message in a record.
type HTTPHead struct {
	Raw       string // exactly as recorded, up to and with the empty line
	StartLine string
	Version   string // "HTTP/1.1"
	Status    int    // of a response
	Reason    string // of a response; may be empty
	Method    string // of a request
	URI       string // of a request
	Header    Header

	problems []string // oddities that can be read nevertheless
}

// HTTP reads start line and header off the block of an application/http record. The
// payload, as recorded, is what Block has left. A second call returns the same head.
// The error wraps ErrHTTP when the block is no HTTP message, ErrLimit when the head is too long to be read.
func (r *Record) HTTP() (*HTTPHead, error) {
	if r.http != nil {
		return r.http, nil
	}
	if !r.IsHTTP() {
		return nil, fmt.Errorf("content type is %.60q: %w", r.ContentType(), ErrHTTP)
	}
	if r.block == nil || r.block.left != r.Size {
		return nil, fmt.Errorf("the block was read before: %w", ErrHTTP)
	}
	head, err := r.readHTTP()
	if err != nil {
		return nil, err
	}
	if !head.parseStart(r.Type == TypeRequest) {
		return nil, fmt.Errorf("start line %.60q: %w", head.StartLine, ErrHTTP)
	}
	return head, nil
}

// readHTTP is HTTP for messages with whatever start line. It keeps the head in the record.
func (r *Record) readHTTP() (*HTTPHead, error) {
	text, ended, err := r.block.head()
	if err != nil {
		return nil, err
	}
	r.http = parseHTTPHead(string(text), ended)
	return r.http, nil
}

// parseHTTPHead cuts up the head of an HTTP message; ended tells whether an empty line ended it.
func parseHTTPHead(text string, ended bool) *HTTPHead {
	h := &HTTPHead{Raw: text}
	line, rest, _ := strings.Cut(text, "\n")
	h.StartLine = strings.TrimRight(line, "\r")
	if h.StartLine == "" {
		h.problem("empty start line")
	}
	if !ended {
		h.problem("no blank line after the HTTP header")
	} else if strings.HasSuffix(text, "\n\n") {
		h.problem("HTTP header ends LF LF, not CRLF CRLF")
	}
	h.Header = parseFields(rest, func(code, message string) {
		switch code {
		case "header-no-colon":
			h.problem("HTTP header line without a colon: " + message)
		case "header-name":
			h.problem("bad HTTP header name " + message)
		}
	})
	return h
}

func (h *HTTPHead) problem(s string) {
	if len(h.problems) < 20 {
		h.problems = append(h.problems, s)
	}
}

// parseStart reads the start line and reports whether it is one.
func (h *HTTPHead) parseStart(request bool) bool {
	if request {
		var ok bool
		rest := ""
		h.Method, rest, ok = strings.Cut(h.StartLine, " ")
		if !ok || !token(h.Method) {
			return false
		}
		i := strings.LastIndexByte(rest, ' ')
		if i < 0 || !strings.HasPrefix(rest[i+1:], "HTTP/") {
			return false
		}
		h.URI, h.Version = rest[:i], rest[i+1:]
		return h.URI != ""
	}
	version, rest, _ := strings.Cut(strings.ReplaceAll(h.StartLine, "\t", " "), " ")
	if !strings.HasPrefix(strings.ToUpper(version), "HTTP/") && !strings.EqualFold(version, "ICY") { // as browsers do
		return false
	}
	code, reason, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	status, err := strconv.Atoi(code)
	if err != nil || len(code) != 3 || status < 0 {
		return false
	}
	h.Version, h.Status, h.Reason = version, status, reason
	return true
}

// MIME returns the media type of Content-Type in lower case, without parameters.
func (h *HTTPHead) MIME() string { return mediaType(h.Header.Get("Content-Type")) }

// mediaType takes the parameters off a content type.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(s))
}
