package extract

import "bytes"

// Bounds of a form that is filled in.
const (
	maxFields = 100
	maxQuery  = 2048
)

// form is the form that is open, with the fields a browser would send if nobody touched them.
type form struct {
	open     bool
	get      bool // its method
	hopeless bool // it asks for a password or a file, or is too large
	action   []byte
	query    []byte
	fields   int
	sent     bool // the button that sends it has been seen
	inSelect bool
	choice   []byte // the name of the select that is open
	multiple bool
	chosen   bool
	first    []byte // the value of its first option
}

// beginForm opens a form. A form within a form is ignored, as in the HTML standard.
func (x *markup) beginForm(e *element) {
	if x.form.open {
		return
	}
	method := trim(e.get("method"))
	action := e.get("action")
	get := len(method) == 0 || !equalFold(method, "post") && !equalFold(method, "dialog")
	if x.guessing {
		if get && action != nil {
			x.reference(unescape(action), Navlink, "form/@action")
		}
		return
	}
	x.form = form{open: true, get: get, query: x.form.query[:0]}
	if action != nil {
		x.form.action = trim(unescape(action))
		if get {
			x.reference(x.form.action, Navlink, "form/@action")
		}
	}
}

// endForm submits the form that is open, if it is one that asks a question and no more.
func (x *markup) endForm() {
	f := &x.form
	if !f.open {
		return
	}
	f.endSelect(x)
	f.open = false
	if !f.get || f.hopeless || f.fields == 0 || !x.options.Forms || len(f.query) > maxQuery {
		return
	}
	target := f.action
	if i := bytes.IndexAny(target, "?#"); i >= 0 {
		target = target[:i]
	}
	if len(target) == 0 {
		target = []byte(x.base.path)
	}
	if hasPrefixFold(target, "javascript:") {
		return
	}
	ref := make([]byte, 0, len(target)+len(f.query)+1)
	ref = append(append(append(ref, target...), '?'), f.query...)
	x.add(ref, Submit, "form/@action")
}

// formAction is where a button sends its form to instead.
func (x *markup) formAction(e *element) {
	action := e.get("formaction")
	if action == nil {
		return
	}
	get := x.form.get || !x.form.open
	if m := trim(e.get("formmethod")); len(m) > 0 {
		get = !equalFold(m, "post") && !equalFold(m, "dialog")
	}
	if get {
		x.reference(unescape(action), Navlink, e.name+"/@formaction")
	}
}

// control handles an element of the open form; after is what follows its tag.
func (f *form) control(x *markup, e *element, after []byte) {
	if e.name == "option" {
		f.option(x, e, after)
		return
	}
	if e.get("disabled") != nil {
		return
	}
	name, kind := e.get("name"), trim(e.get("type"))
	switch e.name {
	case "select":
		f.endSelect(x)
		f.inSelect, f.choice, f.multiple, f.chosen, f.first = true, name, e.get("multiple") != nil, false, nil
	case "button":
		if len(kind) == 0 || equalFold(kind, "submit") {
			f.button(x, name, e.get("value"))
		}
	case "input":
		switch {
		case equalFold(kind, "password"), equalFold(kind, "file"):
			f.hopeless = true
		case equalFold(kind, "submit"):
			f.button(x, name, e.get("value"))
		case equalFold(kind, "checkbox"), equalFold(kind, "radio"):
			if e.get("checked") != nil {
				value := e.get("value")
				if value == nil {
					value = []byte("on")
				}
				f.field(x, name, value)
			}
		case equalFold(kind, "button"), equalFold(kind, "reset"), equalFold(kind, "image"):
		default:
			f.field(x, name, e.get("value"))
		}
	}
}

// button is one that sends the form; the first of them is the one that a form is sent with.
func (f *form) button(x *markup, name, value []byte) {
	if !f.sent && len(name) > 0 {
		f.field(x, name, value)
	}
	f.sent = true
}

// option is one choice of the select that is open.
func (f *form) option(x *markup, e *element, after []byte) {
	if !f.inSelect || e.get("disabled") != nil {
		return
	}
	value := e.get("value")
	if value == nil {
		text := after[:min(len(after), 256)]
		if i := bytes.IndexByte(text, '<'); i >= 0 {
			text = text[:i]
		}
		value = trim(text)
	}
	switch {
	case e.get("selected") != nil:
		f.chosen = true
		f.field(x, f.choice, value)
	case f.first == nil:
		f.first = value
	}
}

// endSelect closes the select that is open. Where nothing was chosen, it is the first option.
func (f *form) endSelect(x *markup) {
	if f.inSelect && !f.chosen && !f.multiple && f.first != nil {
		f.field(x, f.choice, f.first)
	}
	f.inSelect = false
}

// field adds a name and a value, both as written, to what the form sends.
func (f *form) field(x *markup, name, value []byte) {
	if len(name) == 0 || !f.get || f.hopeless || !x.options.Forms {
		return
	}
	if f.fields++; f.fields > maxFields || len(f.query)+len(name)+len(value) > maxQuery {
		f.hopeless = true
		return
	}
	if len(f.query) > 0 {
		f.query = append(f.query, '&')
	}
	f.query = appendField(f.query, x.encode(unescape(name)))
	f.query = append(f.query, '=')
	f.query = appendField(f.query, x.encode(unescape(value)))
}

// appendField writes as application/x-www-form-urlencoded.
func appendField(out, b []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range b {
		switch {
		case isLetter(c) || isDigit(c) || c == '*' || c == '-' || c == '.' || c == '_':
			out = append(out, c)
		case c == ' ':
			out = append(out, '+')
		default:
			out = append(out, '%', digits[c>>4], digits[c&15])
		}
	}
	return out
}
