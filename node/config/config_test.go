package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const twoNodes = `
cluster = "example"
bandwidth = "10MB"
data = "/tmp/<node>"

[[replica]]
name = "north"
kind = "bitarchive"
bandwidth = "20MB"
audit-every = "30d"

[[replica]]
name = "third"
kind = "checksum"

[[node]]
name = "north-1"
replica = "north"
bandwidth = "30MB"

[[node]]
name = "north-2"
replica = "north"

[[node]]
name = "third-1"
replica = "third"
`

func TestSettingsAreInheritedFromClusterToReplicaToNode(t *testing.T) {
	t.Parallel()
	f, err := Parse("cluster.toml", twoNodes)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Bytes{"north-1": 30e6, "north-2": 10e6 /* half of its replica's */, "third-1": 10e6} {
		c, err := f.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		if c.Limits.Bandwidth != want || c.Data != "/tmp/"+name {
			t.Errorf("%s: bandwidth %v data %q, want %v and its own folder", name, c.Limits.Bandwidth, c.Data, want)
		}
	}
	tiny, err := Parse("cluster.toml", strings.Replace(twoNodes, `bandwidth = "20MB"`, `bandwidth = "1B"`, 1))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := tiny.Node("north-2"); err != nil || c.Limits.Bandwidth != 1 {
		t.Errorf("half a byte is %v, error %v; 0 is no limit", c.Limits.Bandwidth, err)
	}
	c, _ := f.Node("north-2")
	if c.Limits.AuditEvery != Duration(30*24*time.Hour) || c.Replica.Place != "north" {
		t.Errorf("north-2: %+v", c)
	}
}

func TestBadConfigurationNamesTheLineAndWhatWasMeant(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, from, to, want string }{
		{"unknown key", `bandwidth = "20MB"`, `bandwith = "20MB"`, `cluster.toml:9: unknown key "bandwith", did you mean "bandwidth"?`},
		{"bad size", `bandwidth = "20MB"`, `bandwidth = "lots"`, `cluster.toml:9: bandwidth: "lots" is not a number of bytes`},
		{"bad span", `audit-every = "30d"`, `audit-every = "often"`, `cluster.toml:10: audit-every: "often" is not a span of time`},
		{"wrong type", `bandwidth = "30MB"`, `weight = "heavy"`, `:19:`},
		{"no list", `bandwidth = "30MB"`, `files = "/disk1"`, `cluster.toml:19: files: want a list, as in ["a", "b"], not a text in quotes`},
		{"no number", `bandwidth = "30MB"`, `weight = "heavy"`, `cluster.toml:19: weight: want a whole number, not a text in quotes`},
		{"bad kind", `kind = "checksum"`, `kind = "cheksum"`, `line 14: replica third: unknown kind "cheksum", did you mean "checksum"?`},
		{"no such replica", `replica = "third"`, `replica = "thrid"`, `line 27: node third-1: unknown replica "thrid", did you mean "third"?`},
		{"twice", `name = "north-2"`, `name = "north-1"`, `node "north-1" is defined twice`},
		{"not TOML", `kind = "checksum"`, `kind = checksum`, `cluster.toml:14:`},
		{"short lease", `bandwidth = "30MB"`, `lease = "30s"`, `lease = "30s": want at least 1m`},
		{"no channels", `bandwidth = "30MB"`, `channels = []`, `channels = []: name at least one`},
		{"no language", `bandwidth = "30MB"`, `languages = []`, `cluster.toml: line 19: languages: name at least one of: en, da, de, fr, it`},
		{"unknown language", `bandwidth = "10MB"`, `languages = ["en", "dk"]`, `cluster.toml: line 3: languages: unknown language "dk", want some of: en, da, de, fr, it`},
		{"a country's variant", `bandwidth = "20MB"`, `languages = ["de-AT"]`, `cluster.toml: line 9: languages: unknown language "de-AT", did you mean "de"?`},
		{"a language's name", `bandwidth = "10MB"`, "languages = [\n\"English\"]", `cluster.toml: line 3: languages: unknown language "English", did you mean "en"?`},
		{"a language twice", `bandwidth = "30MB"`, `languages = ["da", "da"]`, `line 19: languages: "da" is named twice`},
		{"languages as text", `bandwidth = "30MB"`, `languages = "da"`, `cluster.toml:19: languages: want a list, as in ["a", "b"], not a text in quotes`},
		{"language, not languages", `bandwidth = "30MB"`, `language = ["da"]`, `cluster.toml:19: unknown key "language", did you mean "languages"?`},
		{"no tag, with a folder", `bandwidth = "10MB"`, "language-files = \"/l\"\nlanguages = [\"sv\", \"sv_SE\"]", `line 4: languages: unknown language "sv_SE"`},
		{"a folder's language twice", `bandwidth = "10MB"`, "language-files = \"/l\"\nlanguages = [\"sv\", \"sv\"]", `line 4: languages: "sv" is named twice`},
		{"relative language files", `bandwidth = "10MB"`, `language-files = "l"`, `line 3: language-files = "l": want a path from the root`},
		{"unknown form of the log", `bandwidth = "30MB"`, `log-format = "jsn"`, `unknown log-format "jsn", did you mean "json"?`},
		{"small log files", `bandwidth = "30MB"`, `log-file-size = "1KiB"`, `log-file-size = 1KiB: want at least 64KiB`},
		{"large log files", `bandwidth = "30MB"`, "log-file-size = \"1GiB\"\nlog-files = 11", `log-files = 11 and log-file-size = 1GiB: want at most 10GiB in all`},
		{"more log files than there can be", `bandwidth = "30MB"`, "log-files = 9223372036854775807", `want at most 10GiB in all`},
		{"fewer log files than none", `bandwidth = "30MB"`, "log-files = -1", `log-files = -1: want 0 or more`},
		{"bad channel", `bandwidth = "30MB"`, `channels = ["a-b"]`, `channels: "a-b": want 1 to 64 letters`},
		{"a channel twice", `bandwidth = "30MB"`, `channels = ["A", "A"]`, `channels: "A" is named twice`},
		{"too much weight", `bandwidth = "30MB"`, `weight = 2000000`, `line 19: node north-1: weight 2000000: want 1 to 1000000`},
		{"a disk twice", `bandwidth = "30MB"`, `files = ["/disk1/a", "/disk2", "/disk1//a/"]`, `files: "/disk1//a/" is listed twice`},
		{"relative data", `data = "/tmp/<node>"`, `data = "tmp/<node>"`, `data = "tmp/north-1": want a path from the root`},
		{"relative files", `bandwidth = "30MB"`, `files = ["disk1"]`, `files: "disk1": want a path from the root`},
		{"address without host", `bandwidth = "30MB"`, `addresses = [":7480"]`, `addresses: ":7480": want the host and port`},
		{"address that is all", `bandwidth = "30MB"`, `addresses = ["[::]:7480"]`, `addresses: "[::]:7480": want the host and port`},
		{"address without port", `bandwidth = "30MB"`, `addresses = ["a.example:0"]`, `addresses: "a.example:0": want the host and port`},
		{"one port for two", `bandwidth = "30MB"`, `access = "127.0.0.1:7481"`, `api "127.0.0.1:7481" and access "127.0.0.1:7481": one address cannot serve both`},
		{"one port of all", `bandwidth = "30MB"`, `access = ":7481"`, `access ":7481": one address cannot serve both`},
		{"no host", `bandwidth = "30MB"`, `organization = "a library"`, `organization = "a library": want a name as hosts have it`},
		{"bad address", `bandwidth = "30MB"`, `peer = "7480"`, `peer "7480": want host:port`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("cluster.toml", strings.Replace(twoNodes, tt.from, tt.to, 1))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want one with %q", err, tt.want)
			}
			if !errors.Is(err, ErrConfig) {
				t.Errorf("error %v does not wrap ErrConfig", err)
			}
		})
	}
}

func TestLanguagesOfAFolderAreTaken(t *testing.T) {
	t.Parallel()
	f, err := Parse("cluster.toml", strings.Replace(twoNodes, `bandwidth = "10MB"`, "language-files = \"/l\"\nlanguages = [\"sv\", \"en\", \"fr-CA\"]", 1))
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Node("north-1")
	if err != nil || strings.Join(c.Languages, " ") != "sv en fr-CA" || c.LanguageFiles != "/l" {
		t.Errorf("%v: %q from %q", err, c.Languages, c.LanguageFiles)
	}
}

func TestBadPermissionsOfFilesAreRefused(t *testing.T) {
	t.Parallel()
	var m FileMode
	for _, text := range []string{"", "644x", "0755", "0444", "01644", "9"} {
		if err := m.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for permissions", text)
		}
	}
}
