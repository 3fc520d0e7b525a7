package agree

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestJSONToTheByte draws what the engine keeps and writes itself: encoding/json must write and read the same.
func TestJSONToTheByte(t *testing.T) {
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "a<b", `"`, `\`, "\x00", "\x7f", "\xff", "é", "\u2028"}), rapid.StringMatching(`[ -~]{0,20}`))
	rapid.Check(t, func(t *rapid.T) {
		w := window{Boot: rapid.Uint64().Draw(t, "boot"), Top: rapid.Uint64().Draw(t, "top")}
		a := answer{Boot: w.Boot, Seq: w.Top, Number: rapid.SampledFrom([]uint64{0, 1, 1 << 63}).Draw(t, "number")}
		if rapid.Bool().Draw(t, "refused") {
			a.Result.Refusal = &Refusal{Code: Code(text.Draw(t, "code")), Message: text.Draw(t, "message")}
		}
		if rapid.Bool().Draw(t, "valued") {
			value, err := json.Marshal(text.Draw(t, "value"))
			if err != nil {
				t.Fatal(err)
			}
			a.Result.Value = value
		}
		for _, v := range []any{w, a} {
			want, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := AppendJSON([]byte("before"), v); err != nil || string(got) != "before"+string(want) {
				t.Fatalf("%T is written as %s, %v, by encoding/json as %s", v, got, err, want)
			}
			sameAsJSON(t, want)
			at := rapid.IntRange(0, len(want)-1).Draw(t, "place")
			sameAsJSON(t, append(want[:at:at], want[at+1:]...))
		}
	})
}

// sameAsJSON fails when a parser accepts a text that encoding/json refuses or understands otherwise. What an answer begins
// with is accepted whatever follows it.
func sameAsJSON(t *rapid.T, text []byte) {
	for _, p := range []Parser{new(window), new(asked)} {
		if !p.ParseJSON(text) {
			continue
		}
		_, beginning := p.(*asked)
		if beginning {
			boot, _, _ := strings.Cut(string(text), `,"result":{`)
			text = []byte(boot + "}")
		}
		same := reflect.New(reflect.TypeOf(p).Elem())
		if err := DecodeStrict(text, same.Interface()); err != nil || !reflect.DeepEqual(same.Interface(), any(p)) {
			t.Fatalf("%T reads %q as %+v, encoding/json as %+v, %v", p, text, p, same.Interface(), err)
		}
	}
}

// TestUsualFormIsRead is what the speed rests on: values as the programs write them need no encoding/json.
func TestUsualFormIsRead(t *testing.T) {
	w := window{Boot: 1763683200000000000, Top: 7}
	a := answer{Boot: w.Boot, Seq: w.Top, Result: Result{Value: json.RawMessage(`[{"name":"f"}]`)}}
	var readWindow window
	var readAsked asked
	for text, p := range map[string]Parser{asText(t, w): &readWindow, asText(t, a): &readAsked} {
		if !p.ParseJSON([]byte(text)) {
			t.Errorf("%s is not read", text)
		}
	}
	if readWindow != w || readAsked != (asked{Boot: a.Boot, Seq: a.Seq}) {
		t.Errorf("read %+v and %+v", readWindow, readAsked)
	}
}

func asText(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
