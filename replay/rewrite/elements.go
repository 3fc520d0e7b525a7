package rewrite

import "strings"

// known returns the name of an element that means something here; "" for all others.
func known(name []byte) string {
	switch string(name) {
	case "a":
		return "a"
	case "animate", "set":
		return "animate"
	case "applet":
		return "applet"
	case "base":
		return "base"
	case "baseurl":
		return "baseurl"
	case "blockquote":
		return "blockquote"
	case "body":
		return "body"
	case "del":
		return "del"
	case "embed":
		return "embed"
	case "feimage":
		return "feimage"
	case "foreignobject":
		return "foreignobject"
	case "frame":
		return "frame"
	case "html":
		return "html"
	case "iframe":
		return "iframe"
	case "image":
		return "image"
	case "ins":
		return "ins"
	case "link":
		return "link"
	case "location", "patchlocation":
		return "location"
	case "math":
		return "math"
	case "meta":
		return "meta"
	case "mpd":
		return "mpd"
	case "noembed":
		return "noembed"
	case "noframes":
		return "noframes"
	case "object":
		return "object"
	case "plaintext":
		return "plaintext"
	case "q":
		return "q"
	case "script":
		return "script"
	case "style":
		return "style"
	case "svg":
		return "svg"
	case "textarea":
		return "textarea"
	case "title":
		return "title"
	case "use":
		return "use"
	case "audio", "source", "track", "video":
		return "video"
	case "xml-stylesheet":
		return "xml-stylesheet"
	case "xmp":
		return "xmp"
	}
	if leavesForeign(name) {
		return "p"
	}
	return ""
}

// leavesForeign reports whether an element ends the SVG or MathML that it stands in, which was never closed (HTML,
// 13.2.6.5).
func leavesForeign(name []byte) bool {
	switch string(name) {
	case "b", "big", "br", "center", "code", "dd", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "head",
		"hr", "i", "img", "li", "listing", "menu", "nobr", "ol", "p", "pre", "ruby", "s", "small", "span", "strong",
		"strike", "sub", "sup", "table", "tt", "u", "ul", "var":
		return true
	}
	return false
}

// use says how the value of an attribute is a reference.
type use int

const (
	noReference use = iota
	reference
	candidates // of an image: a srcset
	styled     // a style, or a value that may have url() in it
	document   // the HTML of a frame
	silenced   // renamed, so that it does nothing
	told       // content of a meta element
	kind       // type of a script
	listed     // references with semicolons between them
)

// useOf tells how an attribute is used, and the modifier of its references.
func useOf(element string, name []byte, f *facts) (use, string) {
	switch string(name) {
	case "integrity", "ping":
		return silenced, ""
	case "manifest":
		if element == "html" {
			return silenced, ""
		}
	case "http-equiv":
		if element == "meta" && isPolicy(f.equiv) {
			return silenced, ""
		}
	case "style", "fill", "stroke", "filter", "clip-path", "mask", "marker", "marker-start", "marker-mid", "marker-end",
		"cursor":
		return styled, ""
	case "srcset", "imagesrcset", "data-srcset":
		return candidates, "im_"
	case "srcdoc":
		if element == "iframe" {
			return document, ""
		}
	case "content":
		if element == "meta" {
			return told, ""
		}
	case "type":
		if element == "script" {
			return kind, ""
		}
	case "href", "xlink:href":
		return reference, hrefModifier(element, f)
	case "src":
		return reference, srcModifier(element)
	case "data-src", "data-original", "background", "poster", "lowsrc", "dynsrc":
		return reference, "im_"
	case "from", "to", "by", "values":
		if element == "animate" && strings.HasSuffix(f.animate, "href") {
			return listed, ""
		}
	case "action", "formaction", "longdesc":
		return reference, ""
	case "cite":
		if element == "blockquote" || element == "q" || element == "ins" || element == "del" {
			return reference, ""
		}
	case "data":
		if element == "object" {
			return reference, "oe_"
		}
	case "code", "codebase", "archive", "classid":
		if element == "applet" || element == "object" {
			return reference, "oe_"
		}
	}
	return noReference, ""
}

func hrefModifier(element string, f *facts) string {
	switch element {
	case "link":
		return linkModifier(f)
	case "image", "use", "feimage":
		return "im_"
	case "script":
		return "js_"
	case "xml-stylesheet":
		return "cs_"
	}
	return ""
}

func srcModifier(element string) string {
	switch element {
	case "script":
		return "js_"
	case "iframe":
		return "if_"
	case "frame":
		return "fr_"
	case "embed", "video":
		return "oe_"
	}
	return "im_"
}
