package harvest

import (
	"bytes"
	"encoding/json"
	"flag"
	"hash/crc32"
	"os"
	"reflect"
	"strings"
	"testing"
)

// Settings lie in jobs that are stored and in templates: how they are written does not change. Each file has settings
// that are all given, and the defaults: as clusters store them up to level 3, and from level 4 on. -update writes the
// second file, for a setting that is added.
func TestSettingsAreWrittenAsEver(t *testing.T) {
	var full Settings
	fill(reflect.ValueOf(&full).Elem(), "")
	early := full
	for _, d := range described {
		if d.since > 0 {
			d.field(&early).Set(d.before)
		}
	}
	defaults, err := DefaultSettings().AtLevel(3)
	if err != nil {
		t.Fatal(err)
	}
	if flag.Lookup("update").Value.String() == "true" {
		var out bytes.Buffer
		for _, s := range []Settings{full, DefaultSettings()} {
			if err := json.NewEncoder(&out).Encode(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile("testdata/settings4.json", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for file, all := range map[string][]Settings{"settings.json": {early, defaults}, "settings4.json": {full, DefaultSettings()}} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSpace(string(text)), "\n")
		for i, s := range all {
			if got, err := json.Marshal(s); err != nil || string(got) != want[i] {
				t.Errorf("written as\n%s, want\n%s (%v)", got, want[i], err)
			}
			read, err := ParseStoredJob([]byte(`{"settings":` + want[i] + `}`))
			if again, failed := json.Marshal(read.Settings); err != nil || failed != nil || string(again) != want[i] {
				t.Errorf("read and written as\n%s, want\n%s (%v, %v)", again, want[i], err, failed)
			}
		}
	}
}

// fill gives every field a value that is made of its name alone, so that a new setting changes no other's.
func fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			inner, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",") // a group has none
			fill(v.Field(i), strings.Trim(name+"."+inner, "."))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(numberOf(name))
	case reflect.Float64:
		v.SetFloat(float64(numberOf(name)))
	}
}

// numberOf makes a small number of a name.
func numberOf(name string) int64 {
	return int64(1 + crc32.ChecksumIEEE([]byte(name))%999_983)
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
