package catalog

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// appender writes itself as encoding/json would, to the byte, without its cost. It reports false, and what it
// returns is of no use, when a text needs escapes: then encoding/json itself has to write the value.
type appender interface {
	appendJSON(out []byte) ([]byte, bool)
}

// appendJSON appends what json.Marshal returns for v.
func appendJSON(out []byte, v any) ([]byte, error) {
	if a, ok := v.(appender); ok {
		if written, ok := a.appendJSON(out); ok {
			return written, nil
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(out, text...), nil
}

// object writes the fields of an object, one after the other.
type object struct {
	out     []byte
	escapes bool // a text needs them
}

// text writes a text after name, which is all that stands before it: {"name": or ,"name":
func (o *object) text(name, value string) {
	o.out = append(append(o.out, name...), '"')
	for i := range len(value) {
		if !plain(value[i]) {
			o.escapes = true
			return
		}
	}
	o.out = append(append(o.out, value...), '"')
}

// optional writes a text unless it is empty.
func (o *object) optional(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

func (o *object) int(name string, n int64) {
	o.out = strconv.AppendInt(append(o.out, name...), n, 10)
}

func (o *object) uint(name string, n uint64) {
	o.out = strconv.AppendUint(append(o.out, name...), n, 10)
}

func (o *object) digest(name string, d Digest) {
	o.out = append(append(o.out, name...), '"')
	if !d.IsZero() {
		o.out = hex.AppendEncode(o.out, d[:])
	}
	o.out = append(o.out, '"')
}

// raw writes what stands for itself.
func (o *object) raw(text string) { o.out = append(o.out, text...) }

// when writes the text if the fact holds.
func (o *object) when(fact bool, text string) {
	if fact {
		o.out = append(o.out, text...)
	}
}

func (o *object) end() ([]byte, bool) { return append(o.out, '}'), !o.escapes }

// plain reports whether the byte stands for itself in JSON, as encoding/json writes and reads it.
func plain(c byte) bool {
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
}

func (t Time) appendJSON(out []byte) ([]byte, bool) {
	return strconv.AppendInt(out, int64(t), 10), true
}

func (t Totals) appendJSON(out []byte) ([]byte, bool) {
	o := object{out: out}
	o.int(`{"files":`, t.Files)
	o.int(`,"bytes":`, t.Bytes)
	o.int(`,"good":`, t.Good)
	o.int(`,"owed":`, t.Owed)
	o.int(`,"disputed":`, t.Disputed)
	return o.end()
}

func (r Root) appendJSON(out []byte) ([]byte, bool) {
	o := object{out: out}
	o.int(`{"files":`, r.Files)
	o.int(`,"bytes":`, r.Bytes)
	if !r.Sum.IsZero() {
		o.digest(`,"sum":`, r.Sum)
	}
	return o.end()
}

func (f *File) appendJSON(out []byte) ([]byte, bool) {
	o := object{out: out}
	o.text(`{"name":`, string(f.Name))
	o.int(`,"size":`, f.Size)
	o.digest(`,"sha256":`, f.SHA256)
	o.text(`,"collection":`, string(f.Collection))
	o.text(`,"source":`, string(f.Source))
	o.when(f.Released, `,"released":true`)
	o.int(`,"added":`, int64(f.Added))
	if f.Job != 0 {
		o.uint(`,"job":`, f.Job)
	}
	if f.Attempt != 0 {
		o.int(`,"attempt":`, int64(f.Attempt))
	}
	if f.Removed != 0 {
		o.int(`,"removed":`, int64(f.Removed))
	}
	o.optional(`,"reason":`, f.Reason)
	if f.Lost != 0 {
		o.int(`,"lost":`, int64(f.Lost))
	}
	o.optional(`,"lostWhy":`, f.LostWhy)
	o.uint(`,"version":`, f.Version)
	for i := range f.Copies {
		o.when(i == 0, `,"copies":[`)
		o.when(i > 0, `,`)
		f.Copies[i].append(&o)
	}
	o.when(len(f.Copies) > 0, `]`)
	return o.end()
}

func (c *Copy) append(o *object) {
	o.text(`{"replica":`, string(c.Replica))
	o.text(`,"state":`, string(c.State))
	o.optional(`,"node":`, string(c.Node))
	if !c.Found.IsZero() {
		o.digest(`,"found":`, c.Found)
	}
	o.optional(`,"reason":`, c.Reason)
	if c.Tries != 0 {
		o.int(`,"tries":`, int64(c.Tries))
	}
	o.int(`,"since":`, int64(c.Since))
	o.optional(`,"fileList":`, string(c.FileList))
	o.optional(`,"checksum":`, string(c.Checksum))
	o.when(c.Disputed, `,"disputed":true`)
	o.when(c.Surplus, `,"surplus":true`)
	o.raw(`}`)
}

func (w window) appendJSON(out []byte) ([]byte, bool) {
	o := object{out: out}
	o.uint(`{"boot":`, w.Boot)
	o.uint(`,"top":`, w.Top)
	return o.end()
}

// appendJSON writes the result's value as it is: json.Marshal or its like wrote it.
func (a answer) appendJSON(out []byte) ([]byte, bool) {
	o := object{out: out}
	o.uint(`{"boot":`, a.Boot)
	o.uint(`,"seq":`, a.Seq)
	o.raw(`,"result":{`)
	a.Result.Refusal.append(&o)
	o.when(a.Result.Refusal != nil && len(a.Result.Value) > 0, `,`)
	if len(a.Result.Value) > 0 {
		o.raw(`"value":`)
		o.out = append(o.out, a.Result.Value...)
	}
	o.raw(`}`)
	if a.Job != 0 {
		o.uint(`,"job":`, a.Job)
	}
	return o.end()
}

func (r *Refusal) append(o *object) {
	if r != nil {
		o.text(`"refusal":{"code":`, string(r.Code))
		o.text(`,"message":`, r.Message)
		o.raw(`}`)
	}
}

// itemResults is the answer to a command with many items.
type itemResults []ItemResult

func (r itemResults) appendJSON(out []byte) ([]byte, bool) {
	if r == nil {
		return nil, false
	}
	o := object{out: append(out, '[')}
	for i := range r {
		o.when(i > 0, `,`)
		o.text(`{"name":`, string(r[i].Name))
		o.when(r[i].Refusal != nil, `,`)
		r[i].Refusal.append(&o)
		o.raw(`}`)
	}
	return append(o.out, ']'), !o.escapes
}
