package agree

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// Appender writes itself to the same bytes as encoding/json, at lower cost. It returns false, and a useless result,
// if a text needs escapes: then encoding/json has to write the value.
type Appender interface {
	AppendJSON(out []byte) ([]byte, bool)
}

// AppendJSON appends what json.Marshal returns for v.
func AppendJSON(out []byte, v any) ([]byte, error) {
	if a, ok := v.(Appender); ok {
		if written, ok := a.AppendJSON(out); ok {
			return written, nil
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(out, text...), nil
}

// Object writes the fields of an object, one after the other, behind Out.
type Object struct {
	Out     []byte
	escapes bool // a text needs them
}

// Text writes a text after name, which contains everything before the text: {"name": or ,"name":
func (o *Object) Text(name, value string) {
	o.Out = append(append(o.Out, name...), '"')
	for i := range len(value) {
		if !Plain(value[i]) {
			o.escapes = true
			return
		}
	}
	o.Out = append(append(o.Out, value...), '"')
}

// Optional writes a text unless it is empty.
func (o *Object) Optional(name, value string) {
	if value != "" {
		o.Text(name, value)
	}
}

// Int writes a number after name.
func (o *Object) Int(name string, n int64) {
	o.Out = strconv.AppendInt(append(o.Out, name...), n, 10)
}

// Uint writes a number after name.
func (o *Object) Uint(name string, n uint64) {
	o.Out = strconv.AppendUint(append(o.Out, name...), n, 10)
}

// Digest writes a digest after name.
func (o *Object) Digest(name string, d Digest) {
	o.Out = append(append(o.Out, name...), '"')
	if !d.IsZero() {
		o.Out = hex.AppendEncode(o.Out, d[:])
	}
	o.Out = append(o.Out, '"')
}

// Raw writes text that is JSON already.
func (o *Object) Raw(text string) { o.Out = append(o.Out, text...) }

// When writes the text if the fact holds.
func (o *Object) When(fact bool, text string) {
	if fact {
		o.Out = append(o.Out, text...)
	}
}

// End ends the object. It reports false when a text needs escapes.
func (o *Object) End() ([]byte, bool) { return o.EndWith('}') }

// EndWith ends the value with another bracket.
func (o *Object) EndWith(bracket byte) ([]byte, bool) { return append(o.Out, bracket), !o.escapes }

// Plain reports whether the byte stands for itself in JSON, as encoding/json writes and reads it.
func Plain(c byte) bool {
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
}

// AppendJSON writes the time.
func (t Time) AppendJSON(out []byte) ([]byte, bool) {
	return strconv.AppendInt(out, int64(t), 10), true
}

func (w window) AppendJSON(out []byte) ([]byte, bool) {
	o := Object{Out: out}
	o.Uint(`{"boot":`, w.Boot)
	o.Uint(`,"top":`, w.Top)
	return o.End()
}

// AppendJSON writes the result's value as it is: json.Marshal or its like wrote it.
func (a answer) AppendJSON(out []byte) ([]byte, bool) {
	o := Object{Out: out}
	o.Uint(`{"boot":`, a.Boot)
	o.Uint(`,"seq":`, a.Seq)
	o.Raw(`,"result":{`)
	a.Result.Refusal.AppendTo(&o)
	o.When(a.Result.Refusal != nil && len(a.Result.Value) > 0, `,`)
	if len(a.Result.Value) > 0 {
		o.Raw(`"value":`)
		o.Out = append(o.Out, a.Result.Value...)
	}
	if a.Result.Repeated {
		o.When(a.Result.Refusal != nil || len(a.Result.Value) > 0, `,`)
		o.Raw(`"repeated":true`)
	}
	o.Raw(`}`)
	if a.Number != 0 {
		o.Uint(`,"job":`, a.Number)
	}
	return o.End()
}

// AppendTo writes the refusal as a field, if there is one.
func (r *Refusal) AppendTo(o *Object) {
	if r != nil {
		o.Text(`"refusal":{"code":`, string(r.Code))
		o.Text(`,"message":`, r.Message)
		o.Raw(`}`)
	}
}

// ParseJSON reads the time as the programs write it.
func (t *Time) ParseJSON(text []byte) bool {
	c := NewScanner(text)
	out := c.Time()
	if c.Done() {
		*t = out
	}
	return c.Done()
}

func (w *window) ParseJSON(text []byte) bool {
	c, out := NewScanner(text), window{}
	c.Must(`{"boot":`)
	out.Boot = c.Uint()
	c.Must(`,"top":`)
	out.Top = c.Uint()
	c.Must(`}`)
	if c.Done() {
		*w = out
	}
	return c.Done()
}

// ParseJSON reads the beginning of an answer. The rest is left to the caller.
func (a *asked) ParseJSON(text []byte) bool {
	c, out := NewScanner(text), asked{}
	c.Must(`{"boot":`)
	out.Boot = c.Uint()
	c.Must(`,"seq":`)
	out.Seq = c.Uint()
	c.Must(`,"result":{`)
	if !c.bad {
		*a = out
	}
	return !c.bad
}
