package extract

import (
	"hash/maphash"

	"golang.org/x/text/encoding"
)

// collector takes the links of one document, in whichever format they are written: it makes URLs of references and
// keeps each once.
type collector struct {
	options  Options
	seed     maphash.Seed
	base     base
	self     base // the document's own URL, where base is another's
	links    []Link
	refs     map[uint64]int32 // hash of a reference as written -> index of its link, or -1
	urls     map[string]int32 // resolved -> index of its link
	limit    int
	result   Result
	encoding encoding.Encoding // of the document's queries, nil for UTF-8
	guessing bool              // the markup is a template: whatever is found in it is speculative
	robot    string            // Document.Robot
	scratch  []byte            // a string without its escapes
}

func newCollector(o Options) *collector {
	return &collector{options: o, limit: o.MaxLinks, seed: maphash.MakeSeed(), refs: map[uint64]int32{},
		urls: map[string]int32{}}
}

// begin forgets the last document for another, and reports whether that has a URL that references may be relative to.
func (x *collector) begin(doc *Document) bool {
	x.links = x.links[:0]
	clear(x.refs)
	clear(x.urls)
	x.limit, x.result, x.encoding = x.options.MaxLinks, Result{}, nil
	x.guessing, x.robot = false, doc.Robot
	if !x.base.set(doc.URL) {
		return false
	}
	x.self = x.base
	return true
}

// runsOn makes references relative to the page that a script runs on.
func (x *collector) runsOn(via string) {
	if via != "" && isHTTP([]byte(via)) {
		x.base.set(via)
	}
}

// rebase takes the first <base href> as the base of all references.
func (x *collector) rebase(href []byte) bool {
	url, ok := x.base.resolve(trim(unescape(href)))
	if !ok || !x.base.set(url) {
		return false
	}
	x.self = x.base // the page's own modules are relative to it
	clear(x.refs)
	return true
}

// add resolves a reference and keeps it, once per document. A certain link outranks a guessed one, and a part of the
// page outranks a link to another page.
func (x *collector) add(ref []byte, hop byte, context string) {
	ref = trim(ref)
	if len(ref) == 0 || ref[0] == '#' {
		return
	}
	if len(ref) > maxURL {
		x.bad(&x.base, ref, hop)
		return
	}
	if x.guessing {
		hop = Speculative
		if !templateSafe(ref) {
			return
		}
	}
	if hop == Speculative && !x.options.Speculative {
		return
	}
	key := maphash.Bytes(x.seed, ref)
	if i, ok := x.refs[key]; ok {
		x.promote(i, hop, context)
		return
	}
	if i, kept := x.keep(&x.base, ref, hop, context); kept {
		x.refs[key] = i
	}
}

// keep resolves a reference against a base and keeps it; it answers its index, -1 if it is no URL that is followed,
// and false if there is no room for it.
func (x *collector) keep(b *base, ref []byte, hop byte, context string) (int32, bool) {
	if x.encoding != nil {
		ref = x.encodeQuery(ref)
	}
	url, ok := b.resolve(ref)
	if !ok {
		x.bad(b, ref, hop)
		return -1, true
	}
	i, known := x.urls[url]
	switch {
	case known:
		x.promote(i, hop, context)
	case len(x.links) >= x.limit:
		x.result.Dropped++
		return -1, false
	default:
		i = int32(len(x.links))
		x.links = append(x.links, Link{URL: url, Hop: hop, Context: context})
		x.urls[url] = i
	}
	return i, true
}

// bad notes a reference of which no URL could be made, unless it was a guess or means something else than the web.
func (x *collector) bad(b *base, ref []byte, hop byte) {
	if hop == Speculative || len(x.result.Bad) >= maxBad {
		return
	}
	if problem := b.problem(ref); problem != "" {
		x.result.Bad = append(x.result.Bad, BadURI{string(ref[:min(len(ref), maxURL)]), problem})
	}
}

// addTo is add for a reference that is relative to another base.
func (x *collector) addTo(b *base, ref []byte, hop byte, context string) {
	ref = trim(ref)
	if len(ref) == 0 || ref[0] == '#' || len(ref) > maxURL || hop == Speculative && !x.options.Speculative {
		return
	}
	x.keep(b, ref, hop, context)
}

func (x *collector) promote(i int32, hop byte, context string) {
	if i >= 0 && rank(hop) > rank(x.links[i].Hop) {
		x.links[i].Hop, x.links[i].Context = hop, context
	}
}

// rank orders hops by how sure they are and how close to the page.
func rank(hop byte) int {
	switch hop {
	case Redirect:
		return 6
	case Embed:
		return 5
	case Manifest:
		return 4
	case Navlink:
		return 3
	case Inferred:
		return 2
	case Submit:
		return 1
	}
	return 0
}

// trim removes the white space and control characters that a browser ignores around a reference.
func trim(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}
