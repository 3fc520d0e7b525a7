package config

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A node's folder adds a language and changes texts; a broken file is left out, and the log names it and the line.
func TestLanguagesOfTheNodesFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sv.toml": "name = \"Svenska\"\n[replay.find]\ntext = \"Sök\"\n",
		"da.toml": "[replay.find]\ntext = \"Led\"\n",
		"fi.toml": "name = \"Suomi\"\n\n[replay.find]\ntekst = \"Hae\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		languages []string
		folder    string
		want      string // tag and text of each that is offered
		log       string
	}{
		{[]string{"da", "en"}, "", "da=Søg en=Find", ""},
		{[]string{"sv", "da", "fi"}, dir, "sv=Sök da=Led", `fi.toml:4: unknown key`},
		{[]string{"fi"}, dir, "en=Find", `language=fi`},
		{[]string{"sv", "da"}, filepath.Join(dir, "none"), "da=Søg", `language=sv`},
		{[]string{"da"}, filepath.Join(dir, "none"), "da=Søg", `no such file`},
	} {
		var log bytes.Buffer
		cfg, to := Config{Languages: tt.languages, LanguageFiles: tt.folder}, slog.New(slog.NewTextHandler(&log, nil))
		all, err := cfg.Texts(to)
		if err != nil {
			t.Fatal(err)
		}
		o, err := cfg.Offered(all, to)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range o.Languages() {
			got = append(got, l.Tag()+"="+l.Text("replay.find"))
		}
		if s := strings.Join(got, " "); s != tt.want || !strings.Contains(log.String(), tt.log) || tt.log == "" && log.Len() > 0 {
			t.Errorf("%v: %s, want %s; the log says %q", tt.languages, s, tt.want, log.String())
		}
	}
}
