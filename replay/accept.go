package replay

import (
	"net/http"
	"strconv"
	"strings"

	"holdfast/internal/coding"
)

// accepts reports whether a reader can undo content codings, by Accept-Encoding (RFC 9110, section 12.5.3). One who
// sends none can undo any by the letter of the RFC; silent says what is taken for true.
func accepts(r *http.Request, codings []string, silent bool) bool {
	sent := r.Header.Values("Accept-Encoding")
	if len(sent) == 0 {
		return silent
	}
	weights := map[string]bool{} // of the codings named, whether they are accepted
	for _, v := range sent {
		for item := range strings.SplitSeq(v, ",") {
			name, parameters, _ := strings.Cut(item, ";")
			weights[plainCoding(strings.ToLower(strings.TrimSpace(name)))] = !refused(parameters)
		}
	}
	for _, name := range codings {
		ok, named := weights[plainCoding(name)]
		if !named {
			ok = weights["*"]
		}
		if !ok {
			return false
		}
	}
	return true
}

// plainCoding is the name of a coding that has two.
func plainCoding(name string) string { return strings.TrimPrefix(name, "x-") }

// refused reports whether the parameters of an item have a weight of zero.
func refused(parameters string) bool {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(name, "q") {
			q, err := strconv.ParseFloat(value, 64)
			return err == nil && q == 0
		}
	}
	return false
}

// codingsOf are the content codings of a document, as coding.Names has them.
func codingsOf(d *document) []string { return coding.Names(d.header.Values("Content-Encoding")) }
