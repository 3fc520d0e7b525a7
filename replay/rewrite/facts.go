package rewrite

import "strings"

// facts are what attributes of a tag say about its others.
type facts struct {
	rel, as string // of a link
	equiv   string // http-equiv of a meta element
	kind    string // type of a script
	animate string // the attribute that an animation changes
}

// factsOf reads the attributes of an element on which others depend.
func (s *scan) factsOf(t *tag) (f facts) {
	switch t.name {
	case "link":
		f.rel, f.as = s.find(t, "rel"), s.find(t, "as")
	case "meta":
		f.equiv = s.find(t, "http-equiv")
	case "script":
		f.kind = s.find(t, "type")
	case "animate":
		f.animate = s.find(t, "attributename")
	}
	return f
}

// find returns the value of an attribute in lower case, without white space around it; empty if there is none.
func (s *scan) find(t *tag, name string) string {
	for i := range t.attrs {
		a := &t.attrs[i]
		if a.nameEnd-a.name == len(name) && strings.EqualFold(string(s.buf[s.mark+a.name:s.mark+a.nameEnd]), name) {
			return strings.ToLower(strings.TrimSpace(unescape(string(s.buf[s.mark+a.value : s.mark+a.valueEnd]))))
		}
	}
	return ""
}

// linkModifier returns the modifier for a link element, from its purpose.
func linkModifier(f *facts) string {
	for word := range strings.FieldsSeq(f.rel) {
		switch word {
		case "stylesheet":
			return "cs_"
		case "icon", "apple-touch-icon", "mask-icon", "image_src":
			return "im_"
		case "modulepreload":
			return "js_"
		case "preload", "prefetch":
			switch f.as {
			case "style":
				return "cs_"
			case "script":
				return "js_"
			}
			return "oe_"
		}
	}
	return ""
}

// isPolicy reports whether a meta element would set a policy that is not ours to keep.
func isPolicy(equiv string) bool { return strings.HasPrefix(equiv, "content-security-policy") }
