package extract

import (
	"bytes"
	"math"
	"strconv"
)

// Limits on what is made from a DASH manifest.
const (
	maxDASHDepth = 8
	maxTimeline  = 4096  // entries of one SegmentTimeline
	maxSegments  = 20000 // URLs made from templates
)

// dashLevel is what holds at a place of a manifest; what lies within inherits it.
type dashLevel struct {
	base      base
	ownBase   bool // it has a BaseURL of its own
	id        []byte
	bandwidth []byte
	seconds   float64 // how long the period lasts, 0 if it is not known
	template  segmentTemplate
	list      bool // it lists its segments
}

// segmentTemplate is a SegmentTemplate with its timeline.
type segmentTemplate struct {
	media, initialization, index []byte
	start, end                   int64 // numbers of segments; end is 0 if it is not said
	duration, timescale          int64
	timeline                     []timelineEntry
}

// timelineEntry is <S t d r>: r+1 segments of d each, from t on.
type timelineEntry struct {
	t, d, r int64
}

// dashReader reads a manifest.
type dashReader struct {
	x       *collector
	levels  [maxDASHDepth]dashLevel
	depth   int // of the level that holds
	ignored int // levels deeper than can be
	text    string
	first   bool // no BaseURL of the level has been read yet
	made    int
}

// dash reads an MPD manifest. From a SegmentTemplate it makes only the URLs whose
// numbers or times the manifest lists.
func (x *documents) dash(b []byte) {
	s := xmlScanner{b: b}
	r := dashReader{x: x.collector}
	r.levels[0] = dashLevel{base: x.base, template: segmentTemplate{start: 1, timescale: 1}}
	for {
		switch s.next() {
		case xmlDone:
			return
		case xmlStart:
			r.text = ""
			r.start(&s, string(localName(s.name)))
		case xmlEnd:
			r.text = ""
			r.end(string(localName(s.name)))
		case xmlText:
			switch v := s.plain(); r.text {
			case "BaseURL":
				r.rebase(v)
			case "Location", "PatchLocation":
				x.add(v, Embed, "dash/"+r.text)
			}
		}
	}
}

func (r *dashReader) level() *dashLevel { return &r.levels[r.depth] }

// start handles a start tag.
func (r *dashReader) start(s *xmlScanner, name string) {
	if v := s.get("xlink:href"); v != nil {
		r.x.addTo(&r.level().base, v, Embed, "dash/@xlink:href")
	}
	switch name {
	case "MPD", "Period", "AdaptationSet", "Representation":
		r.open(s, name)
	case "BaseURL", "Location", "PatchLocation":
		r.text = name
	case "SegmentTemplate":
		r.setTemplate(s)
	case "SegmentTimeline":
		r.level().template.timeline = nil
	case "S":
		if t := &r.level().template; len(t.timeline) < maxTimeline {
			start := number(s.get("t"), -1)
			t.timeline = append(t.timeline, timelineEntry{start, number(s.get("d"), 0), number(s.get("r"), 0)})
		}
	case "SegmentList":
		r.level().list = true
	case "SegmentURL":
		r.x.addTo(&r.level().base, s.get("media"), Embed, "SegmentURL/@media")
		r.x.addTo(&r.level().base, s.get("index"), Embed, "SegmentURL/@index")
	case "Initialization", "RepresentationIndex", "BitstreamSwitching":
		r.x.addTo(&r.level().base, s.get("sourceURL"), Embed, name+"/@sourceURL")
	case "ProgramInformation":
		r.x.add(s.get("moreInformationURL"), Navlink, "ProgramInformation/@moreInformationURL")
	}
}

// open begins a level, which inherits the one it is in.
func (r *dashReader) open(s *xmlScanner, name string) {
	if r.depth+1 >= maxDASHDepth {
		if !s.empty {
			r.ignored++
		}
		return
	}
	r.levels[r.depth+1] = r.levels[r.depth]
	r.depth++
	l := r.level()
	l.ownBase, l.list, r.first = false, false, true
	switch name {
	case "MPD":
		if string(s.get("type")) != "dynamic" {
			l.seconds = duration(s.get("mediaPresentationDuration"))
		}
	case "Period":
		if d := duration(s.get("duration")); d > 0 {
			l.seconds = d
		} else if l.seconds > 0 {
			l.seconds = max(0, l.seconds-duration(s.get("start")))
		}
	case "Representation":
		l.id, l.bandwidth = s.get("id"), s.get("bandwidth")
	}
	if s.empty {
		r.end(name)
	}
}

// end ends a level; a representation's links are made there.
func (r *dashReader) end(name string) {
	switch name {
	case "MPD", "Period", "AdaptationSet", "Representation":
	default:
		return
	}
	switch {
	case r.ignored > 0:
		r.ignored--
	case r.depth > 0:
		if name == "Representation" {
			r.representation()
		}
		r.depth--
	}
}

// rebase takes the first BaseURL of a level; further ones name the same at other places.
func (r *dashReader) rebase(v []byte) {
	l := r.level()
	if !r.first {
		return
	}
	if url, ok := l.base.resolve(v); ok && l.base.set(url) {
		l.ownBase, r.first = true, false
	}
}

// setTemplate handles a SegmentTemplate. Attributes that it does not have are inherited from the elements around it.
func (r *dashReader) setTemplate(s *xmlScanner) {
	t := &r.level().template
	for _, a := range s.attrs {
		v := s.get(string(a.name))
		switch string(a.name) {
		case "media":
			t.media = v
		case "initialization":
			t.initialization = v
		case "index":
			t.index = v
		case "startNumber":
			t.start = number(v, 1)
		case "endNumber":
			t.end = number(v, 0)
		case "duration":
			t.duration = number(v, 0)
		case "timescale":
			t.timescale = max(1, number(v, 1))
		}
	}
}

// representation makes the links of the level that ends.
func (r *dashReader) representation() {
	l := r.level()
	t := &l.template
	if t.initialization != nil {
		r.segment(t.initialization, 0, 0, "SegmentTemplate/@initialization")
	}
	switch {
	case t.media == nil && !l.list:
		if l.ownBase {
			r.x.add([]byte(l.base.url), Embed, "BaseURL/text()")
		}
	case t.media == nil:
	case len(t.timeline) > 0:
		r.byTimeline(t, l.seconds)
	case t.end > 0:
		r.byNumber(t, t.end-t.start+1)
	case t.duration > 0 && l.seconds > 0:
		r.byNumber(t, int64(min(math.Ceil(l.seconds*float64(t.timescale)/float64(t.duration)), maxSegments)))
	}
}

func (r *dashReader) byNumber(t *segmentTemplate, count int64) {
	for i := int64(0); i < count && r.made < maxSegments; i++ {
		if t.start > math.MaxInt64-maxSegments || i > 0 && t.duration > math.MaxInt64/maxSegments {
			return
		}
		r.segment(t.media, t.start+i, i*t.duration, "SegmentTemplate/@media")
	}
}

func (r *dashReader) byTimeline(t *segmentTemplate, seconds float64) {
	n, at := t.start, int64(0)
	for i, e := range t.timeline {
		if e.t >= 0 {
			at = e.t
		}
		if e.d <= 0 || e.d > math.MaxInt64/4/maxSegments || at > math.MaxInt64/4 || n > math.MaxInt64/4 {
			return
		}
		repeat := e.r
		if repeat < 0 { // up to the next entry, or the end
			until := seconds * float64(t.timescale)
			if i+1 < len(t.timeline) {
				until = float64(t.timeline[i+1].t)
			}
			repeat = int64(min(max(0, math.Ceil((until-float64(at))/float64(e.d))-1), maxSegments))
		}
		for ; repeat >= 0 && r.made < maxSegments; repeat-- {
			r.segment(t.media, n, at, "SegmentTemplate/@media")
			n, at = n+1, at+e.d
		}
	}
}

// segment makes a link of a template: $RepresentationID$, $Bandwidth$, $Number$ and $Time$, with %0nd after a name if
// wanted.
func (r *dashReader) segment(template []byte, n, at int64, context string) {
	if r.made++; r.made > maxSegments || len(template) > maxURL {
		return
	}
	l := r.level()
	out := r.x.scratch[:0]
	for i := 0; i < len(template); {
		open := bytes.IndexByte(template[i:], '$')
		if open < 0 {
			out = append(out, template[i:]...)
			break
		}
		out = append(out, template[i:i+open]...)
		i += open + 1
		length := bytes.IndexByte(template[i:], '$')
		if length < 0 {
			return
		}
		name, format, _ := bytes.Cut(template[i:i+length], []byte{'%'})
		i += length + 1
		switch string(name) {
		case "":
			out = append(out, '$')
		case "RepresentationID":
			out = append(out, l.id...)
		case "Bandwidth":
			out = append(out, l.bandwidth...)
		case "Number":
			out = appendNumber(out, n, format)
		case "Time":
			out = appendNumber(out, at, format)
		default:
			return
		}
	}
	r.x.scratch = out
	r.x.addTo(&l.base, out, Embed, context)
}

// appendNumber writes n as the format has it, which is "" or "0" and a width and "d".
func appendNumber(out []byte, n int64, format []byte) []byte {
	digits := strconv.FormatInt(n, 10)
	width := number(bytes.TrimSuffix(format, []byte{'d'}), 0)
	for range min(width, 20) - int64(len(digits)) {
		out = append(out, '0')
	}
	return append(out, digits...)
}

// number reads a decimal number, or returns the default if there is none.
func number(v []byte, otherwise int64) int64 {
	if len(v) == 0 || len(v) > 20 {
		return otherwise
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// duration reads an ISO 8601 duration without years and months, in seconds; 0 for anything else.
func duration(v []byte) float64 {
	if len(v) < 3 || v[0] != 'P' || len(v) > 40 {
		return 0
	}
	seconds, start := 0.0, 1
	for i := 1; i < len(v); i++ {
		unit := 0.0
		switch v[i] {
		case 'T':
			start = i + 1
			continue
		case 'D':
			unit = 86400
		case 'H':
			unit = 3600
		case 'M':
			unit = 60
		case 'S':
			unit = 1
		default:
			continue
		}
		n, err := strconv.ParseFloat(string(v[start:i]), 64)
		if err != nil || n < 0 || n > 1e9 {
			return 0
		}
		seconds, start = seconds+n*unit, i+1
	}
	return seconds
}
