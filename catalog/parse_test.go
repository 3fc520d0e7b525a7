package catalog

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"holdfast/catalog/agree"
	"holdfast/catalog/files"

	"pgregory.net/rapid"
)

// parsed are new values of all types that read themselves.
func parsed() []agree.Parser {
	return []agree.Parser{new(Time), new(Totals), new(Root), new(Cluster), new(Replica), new(Member), new(File),
		new(Additions), new(CopyReports), new(Releases)}
}

// checkParse fails when a parser accepts a text that encoding/json refuses or understands otherwise.
func checkParse(t interface{ Fatalf(string, ...any) }, text []byte) {
	for _, p := range parsed() {
		if !p.ParseJSON(text) {
			continue
		}
		same := reflect.New(reflect.TypeOf(p).Elem())
		if err := agree.DecodeStrict(text, same.Interface()); err != nil {
			t.Fatalf("%T accepts %q, encoding/json says %v", p, text, err)
		}
		if !reflect.DeepEqual(same.Interface(), any(p)) {
			t.Fatalf("%T reads %q as %+v, encoding/json as %+v", p, text, p, same.Interface())
		}
	}
	c, body, err := table.Read(text)
	var same Command
	sameErr := agree.DecodeStrict(text, &same)
	if (err == nil) != (sameErr == nil) || err == nil && !reflect.DeepEqual(c, same) {
		t.Fatalf("the command %q reads as %+v, %v, with encoding/json as %+v, %v", text, c, err, same, sameErr)
	}
	if body != nil {
		other := reflect.New(reflect.TypeOf(body).Elem())
		if err := agree.DecodeStrict(c.Body, other.Interface()); err != nil || !reflect.DeepEqual(other.Interface(), body) {
			t.Fatalf("the body %q reads as %+v, with encoding/json as %+v, %v", c.Body, body, other, err)
		}
	}
}

// drawText draws texts with and without what needs escapes.
func drawText(t *rapid.T) string {
	return rapid.OneOf(rapid.SampledFrom([]string{"", "web", "UPLOAD_COMPLETED", "checksum", "a<b", `"`, `\`, "\x00", "\x7f", "\xff", "é", "\u2028"}),
		rapid.StringMatching(`[ -~]{0,20}`)).Draw(t, "text")
}

// fill sets every field below v to something drawn.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*Refusal]() && rapid.Bool().Draw(t, "nil") {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			raw, err := json.Marshal(drawText(t))
			if err == nil && rapid.Bool().Draw(t, "value") {
				v.SetBytes(raw)
			}
			return
		}
		n := rapid.IntRange(0, 3).Draw(t, "items")
		if n == 0 && rapid.Bool().Draw(t, "nil") {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(rapid.SampledFrom([]byte{0, 0, 1, 255}).Draw(t, "byte")))
		}
	case reflect.String:
		v.SetString(drawText(t))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.OneOf(rapid.SampledFrom([]int64{0, 1, -1, math.MinInt64, math.MaxInt64, 1e17, 1e18 - 1, 1e18}), rapid.Int64()).Draw(t, "int"))
	case reflect.Uint64:
		v.SetUint(rapid.OneOf(rapid.SampledFrom([]uint64{0, 1, math.MaxUint64, 1e18, 1e19 - 1, 1e19}), rapid.Uint64()).Draw(t, "uint"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(t, "byte")))
	default:
		t.Fatalf("nothing to draw for a %s", v.Type())
	}
}

// TestJSONToTheByte draws values of every type that writes or reads itself: encoding/json must write and read the same.
func TestJSONToTheByte(t *testing.T) {
	kinds := []reflect.Type{reflect.TypeFor[Totals](), reflect.TypeFor[Root](),
		reflect.TypeFor[Time](), reflect.TypeFor[*File](), reflect.TypeFor[files.ItemResults](), reflect.TypeFor[Cluster](), reflect.TypeFor[Replica](),
		reflect.TypeFor[Member](), reflect.TypeFor[Additions](), reflect.TypeFor[CopyReports](), reflect.TypeFor[Releases]()}
	rapid.Check(t, func(t *rapid.T) {
		v := reflect.New(rapid.SampledFrom(kinds).Draw(t, "type")).Elem()
		fill(t, v)
		want, err := json.Marshal(v.Interface())
		if err != nil {
			t.Fatal(err)
		}
		got, err := agree.AppendJSON([]byte("before"), v.Interface())
		if err != nil || string(got) != "before"+string(want) {
			t.Fatalf("%s is written as %s, %v, by encoding/json as %s", v.Type(), got, err, want)
		}
		checkParse(t, want)
		command, err := json.Marshal(Command{Version: rapid.IntRange(0, 2).Draw(t, "version"), At: Time(rapid.Int64().Draw(t, "at")), Actor: drawText(t), Node: NodeID(drawText(t)),
			Boot: rapid.Uint64().Draw(t, "boot"), Kind: rapid.SampledFrom([]Kind{AddFiles, ReportCopies, ReleaseFiles, FindCopies}).Draw(t, "kind"), Body: want})
		if err != nil {
			t.Fatal(err)
		}
		checkParse(t, command)
		// What is nearly as it should be must not be read otherwise either.
		at := rapid.IntRange(0, len(command)-1).Draw(t, "cut")
		checkParse(t, append(bytes.Clone(command[:at]), command[at+1:]...))
		command[at] = rapid.SampledFrom([]byte(`{}[]",:0- e.\x`)).Draw(t, "other")
		checkParse(t, command)
	})
}

// TestUsualFormIsRead is what the speed rests on: values as the programs write them need no encoding/json.
func TestUsualFormIsRead(t *testing.T) {
	d := Digest{1, 2, 3}
	copies := []Copy{{Replica: "a", State: UploadStarted, Since: 5}, {Replica: "b", State: UploadFailed, Node: "n", Found: d, Reason: "busy", Tries: 2,
		Since: 1, FileList: FileListOK, Checksum: ChecksumCorrupt, Disputed: true, Surplus: true}}
	added := Additions{Files: []Addition{{Name: "f", Size: 1, SHA256: d, Collection: "web", Source: "n", Job: 4, Attempt: 1}, {Name: "g", SHA256: d}}}
	now := Time(1763683200000)
	for _, v := range []any{now, Totals{Files: 1, Bytes: 2, Good: 3, Owed: 4, Disputed: 5}, Root{Files: 1, Bytes: 2, Sum: d}, Root{}, Cluster{ID: "c", Level: 1}, Replica{Name: "r", Kind: Checksum, Collections: []CollectionName{"web"}},
		Member{ID: "m", Key: d[:], Addresses: []string{"[::1]:7480"}, OutOnly: true, Weight: 50, Draining: true}, File{Name: "f", SHA256: d, Released: true, Job: 1, Attempt: 2, Removed: 3, Reason: "r", Copies: copies},
		added, CopyReports{Node: "n", Copies: []CopyReport{{Name: "f", State: UploadCompleted, SHA256: d, Reason: "x"}}}, Releases{Node: "n", Files: []FileName{"f", "g"}}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out := reflect.New(reflect.TypeOf(v))
		if !out.Interface().(agree.Parser).ParseJSON(text) || !reflect.DeepEqual(out.Elem().Interface(), v) {
			t.Errorf("%s is not read: %+v", text, out.Elem())
		}
	}
	body, err := json.Marshal(added)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(Command{Version: 1, Kind: AddFiles, At: now, Actor: "x", Node: "n", Boot: 1763683200000000000, Seq: 3, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	if _, read, err := table.Read(text); err != nil || !reflect.DeepEqual(read, &added) {
		t.Errorf("%s is not read: %+v, %v", text, read, err)
	}
}

// FuzzParse looks for a text that is read otherwise than by encoding/json.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`0`, `-0`, `{"files":1,"bytes":-2,"good":0,"owed":00,"disputed":1}`, `{"files":1,"bytes":2,"sum":""}`,
		`{"v":1,"k":"file.release","at":1,"body":{"node":"n","files":["f"]}}`, `{"v":1,"k":"file.release","at":1,"body":{"node":"n","files":["f"]}}}`,
		`{"id":"m","name":"","key":"AQI=","replica":"r","level":1,"joined":2}`, `{"name":"f","size":1,"sha256":"","collection":"","source":"","added":1,"version":1,"copies":[{"replica":"r","state":"s","since":1}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkParse(t, text) })
}
