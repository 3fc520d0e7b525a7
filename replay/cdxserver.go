package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"encoding/json"

	"holdfast/cdx"
)

// maxCaptures is how many captures one answer of the CDX server may have.
const maxCaptures = 100_000

// cdxServer answers queries as pywb's CDX server does.
func (h *Handler) cdxServer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	params := r.URL.Query()
	q, err := parseCDXQuery(params)
	var fields []string
	if err == nil {
		fields, err = parseFields(params)
	}
	output := params.Get("output")
	switch output {
	case "", "text", "cdxj", "json", "link":
	default:
		err = fmt.Errorf("unknown output %.40q", output)
	}
	if err == nil {
		_, err = q.Compile()
	}
	if err != nil {
		jsonError(w, http.StatusBadRequest, err.Error())
		return
	}
	if output == "link" {
		h.writeTimeMap(w, r, q)
		return
	}
	contentType, write := cdxWriter(output, fields)
	if params.Get("showNumPages") == "true" {
		contentType = "application/json"
		write = nil
	}
	h.stream(w, r, q, contentType, write)
}

// stream writes the captures that may be known of, one a line.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request, q cdx.Query, contentType string,
	write func([]byte, *cdx.Capture) []byte) {
	out := bufio.NewWriterSize(w, 32<<10)
	defer out.Flush()
	governedQuery(w, r, q)
	var line []byte
	begun, missing := false, 0
	begin := func() {
		if !begun {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Trailer", "X-Archive-Incomplete")
			begun = true
		}
	}
	if write == nil {
		begin()
		io.WriteString(out, `{"blocks": 1, "pages": 1, "pageSize": 1}`+"\n")
		return
	}
	for c, err := range cdx.Arrange(q, h.captures.Query(r.Context(), q)) {
		var incomplete *cdx.Incomplete
		switch {
		case errors.As(err, &incomplete):
			missing = len(incomplete.Shards)
			continue
		case err != nil && !begun:
			h.log.Warn("CDX query failed", "url", q.URL, "error", err)
			w.Header().Set("Retry-After", retryAfter)
			jsonError(w, http.StatusServiceUnavailable, "the index cannot be queried now")
			return
		case err != nil:
			h.log.Warn("CDX query ended early", "url", q.URL, "error", err)
			panic(http.ErrAbortHandler) // the reader must not take this for the end
		}
		begin()
		line = append(write(line[:0], &c), '\n')
		if _, err := out.Write(line); err != nil {
			return
		}
	}
	if missing > 0 && !begun { // an empty list would say that there is nothing
		w.Header().Set("Retry-After", retryAfter)
		jsonError(w, http.StatusServiceUnavailable,
			fmt.Sprintf("no captures were found, but %d shards cannot be queried now", missing))
		return
	}
	begin()
	if missing > 0 {
		w.Header().Set("X-Archive-Incomplete", strconv.Itoa(missing))
	}
}

// parseCDXQuery reads pywb's parameters.
func parseCDXQuery(params url.Values) (cdx.Query, error) {
	q := cdx.Query{URL: params.Get("url"), Match: cdx.Scope(params.Get("matchType")), Limit: maxCaptures}
	if q.URL == "" {
		return q, errors.New("the parameter url is missing")
	}
	if q.Match == "" {
		q.URL, q.Match = cdx.Pattern(q.URL)
	}
	q.From, q.To = first(params, "from", "from_ts"), params.Get("to")
	q.Filters = params["filter"]
	if len(q.Filters) > 20 {
		return q, errors.New("more than 20 filters")
	}
	switch sort := params.Get("sort"); {
	case params.Get("closest") != "":
		q.Sort, q.Closest = cdx.Closest, params.Get("closest")
	case sort == "reverse" || params.Get("reverse") == "true" || params.Get("reverse") == "1":
		q.Sort = cdx.Reverse
	case sort != "" && sort != "closest" && sort != "default":
		return q, fmt.Errorf("unknown sort %.40q", sort)
	}
	for name, into := range map[string]*int{"limit": &q.Limit, "collapseTime": &q.Collapse} {
		if s := params.Get(name); s != "" {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 {
				return q, fmt.Errorf("%s=%.40s: want a number", name, s)
			}
			*into = n
		}
	}
	if q.Limit == 0 || q.Limit > maxCaptures {
		q.Limit = maxCaptures
	}
	if s := params.Get("page"); s != "" && s != "0" {
		return q, fmt.Errorf("page %.40q does not exist: the only page is 0", s)
	}
	return q, nil
}

func first(params url.Values, names ...string) string {
	for _, name := range names {
		if v := params.Get(name); v != "" {
			return v
		}
	}
	return ""
}

func parseFields(params url.Values) ([]string, error) {
	list := first(params, "fields", "fl")
	if list == "" {
		return nil, nil
	}
	var fields []string
	for name := range strings.SplitSeq(list, ",") {
		field, ok := cdx.FieldName(strings.TrimSpace(name))
		if !ok {
			return nil, fmt.Errorf("unknown field %.40q", name)
		}
		fields = append(fields, field)
	}
	return fields, nil
}

// cdxWriter returns how a capture becomes a line.
func cdxWriter(output string, fields []string) (contentType string, write func([]byte, *cdx.Capture) []byte) {
	switch {
	case output == "json":
		if fields == nil {
			fields = cdx.FieldNames()
		}
		return "text/x-ndjson", func(b []byte, c *cdx.Capture) []byte { return c.AppendJSON(b, fields...) }
	case output == "cdxj" && fields != nil:
		return "text/x-cdxj", func(b []byte, c *cdx.Capture) []byte {
			b = append(b, c.Key+" "+c.Timestamp+" "...)
			return c.AppendJSON(b, fields...)
		}
	case output == "cdxj":
		return "text/x-cdxj", func(b []byte, c *cdx.Capture) []byte { return c.AppendCDXJ(b) }
	case fields != nil:
		return "text/plain; charset=utf-8", func(b []byte, c *cdx.Capture) []byte {
			for i, name := range fields {
				if i > 0 {
					b = append(b, ' ')
				}
				b = append(b, strings.NewReplacer(" ", "%20", "\n", "%0A").Replace(c.Field(name))...)
			}
			return b
		}
	}
	return "text/plain; charset=utf-8", func(b []byte, c *cdx.Capture) []byte { return c.AppendCDXJ(b) }
}

func jsonError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"message": message})
}

// timeMap answers /timemap/<format>/<url>.
func (h *Handler) timeMap(w http.ResponseWriter, r *http.Request, path string) {
	format, address, _ := strings.Cut(path, "/")
	q := cdx.Query{URL: repairURL(address), Limit: maxCaptures}
	if _, err := q.Compile(); err != nil {
		h.fail(w, r, http.StatusBadRequest, "replay.bad-url")
		return
	}
	switch format {
	case "link":
		h.writeTimeMap(w, r, q)
	case "cdxj", "json":
		contentType, write := cdxWriter(format, nil)
		h.stream(w, r, q, contentType, write)
	default:
		h.fail(w, r, http.StatusNotFound, "replay.time-map-formats")
	}
}

// writeTimeMap writes the captures of a URL as links (RFC 7089).
func (h *Handler) writeTimeMap(w http.ResponseWriter, r *http.Request, q cdx.Query) {
	governedQuery(w, r, q)
	ends, incomplete, err := h.span(r, q)
	if err != nil {
		h.unasked(w, r, err)
		return
	}
	if incomplete != nil {
		w.Header().Set("X-Archive-Incomplete", strconv.Itoa(len(incomplete.Shards)))
	}
	if ends[0] == "" {
		h.notFound(w, r, target{url: q.URL}, incomplete)
		return
	}
	base := h.base(r)
	out := bufio.NewWriterSize(w, 32<<10)
	defer out.Flush()
	w.Header().Set("Content-Type", "application/link-format")
	fmt.Fprintf(out, "<%s/timemap/link/%s>; rel=\"self\"; type=\"application/link-format\"; from=\"%s\"; "+
		"until=\"%s\",\n",
		base, linkSafe(q.URL), timeOf(ends[0]).Format(http.TimeFormat), timeOf(ends[1]).Format(http.TimeFormat))
	fmt.Fprintf(out, "<%s/web/%s>; rel=\"timegate\",\n<%s>; rel=\"original\"", base, linkSafe(q.URL), linkSafe(q.URL))
	for c, err := range cdx.Arrange(q, h.captures.Query(r.Context(), q)) {
		var incomplete *cdx.Incomplete
		if errors.As(err, &incomplete) {
			continue
		}
		if err != nil {
			h.log.Warn("time map ended early", "url", q.URL, "error", err)
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintf(out, ",\n<%s/web/%s/%s>; rel=\"memento\"; datetime=\"%s\"",
			base, c.Timestamp, linkSafe(c.URL), timeOf(c.Timestamp).Format(http.TimeFormat))
	}
	io.WriteString(out, "\n")
}

// span returns the times of the first and last capture, empty if none are known, and the shards that could not be
// asked.
func (h *Handler) span(r *http.Request, q cdx.Query) (ends [2]string, incomplete *cdx.Incomplete, err error) {
	for c, err := range cdx.Arrange(q, h.captures.Query(r.Context(), q)) {
		if errors.As(err, &incomplete) {
			continue
		}
		if err != nil {
			return ends, incomplete, err
		}
		if ends[0] == "" || c.Timestamp < ends[0] {
			ends[0] = c.Timestamp
		}
		ends[1] = max(ends[1], c.Timestamp)
	}
	return ends, incomplete, nil
}
