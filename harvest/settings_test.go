package harvest

import (
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// Settings lie in jobs that are stored and in templates: how they are written does not change. The file has settings
// that are all given, and the defaults.
func TestSettingsAreWrittenAsEver(t *testing.T) {
	text, err := os.ReadFile("testdata/settings.json")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	var full Settings
	fill(reflect.ValueOf(&full).Elem(), new(int))
	for i, s := range []Settings{full, DefaultSettings()} {
		if got, err := json.Marshal(s); err != nil || string(got) != want[i] {
			t.Errorf("written as\n%s, want\n%s (%v)", got, want[i], err)
		}
		read, err := ParseSettings([]byte(want[i]))
		if again, failed := json.Marshal(read); err != nil || failed != nil || string(again) != want[i] {
			t.Errorf("read and written as\n%s, want\n%s (%v, %v)", again, want[i], err, failed)
		}
	}
}

// fill gives every field a value, each number and text another.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		*n--
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		*n--
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Map:
		*n--
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Pointer:
		*n--
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.String:
		v.SetString("t" + strconv.Itoa(*n))
	case reflect.Bool:
		*n--
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n))
	}
}

func TestDefaultsAreNobodysToChange(t *testing.T) {
	DefaultSettings().Extractors[0] = "x"
	if got := DefaultSettings().Extractors[0]; got != "http" {
		t.Errorf("the defaults were changed: %s", got)
	}
}

func TestAWrongValueIsCalledByItsKeyAlone(t *testing.T) {
	for text, want := range map[string]string{
		`{"max_hops":"x"}`:           "max_hops: given a JSON string",
		`{"rules":[{"values":[1]}]}`: "rules.values: given a JSON number",
		`{"sheets":[{"ports":"x"}]}`: "sheets.ports: given a JSON string",
	} {
		if _, err := ParseSettings([]byte(text)); err == nil || !strings.Contains(err.Error(), "not valid: "+want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
