package config

import (
	"errors"
	"strings"
	"testing"
)

// The address of a collector is a URL without anything secret, which is not repeated when it is refused.
func TestTraces(t *testing.T) {
	for line, want := range map[string]string{
		`otlp-url = ""`:                                "",
		`otlp-url = "http://127.0.0.1:4318"`:           "",
		`otlp-url = "https://otel.example.org/tenant"`: "",
		`otlp-url = "127.0.0.1:4318"`:                  "want a URL such as",
		`otlp-url = "grpc://127.0.0.1:4317"`:           "want a URL such as",
		`otlp-url = "http://anna:SECRET@x.org"`:        "without user and password",
		`otlp-url = "http://x.org/?token=SECRET"`:      "without query",
	} {
		c, err := configWith(t, line+"\n")
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "otlp-url")) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s is told: %v", line, err)
		}
		var shown strings.Builder
		if want == "" && (c.Write(&shown) != nil || strings.Contains(shown.String(), "otlp-url") != (c.Traces != "")) {
			t.Errorf("%s is shown as %s", line, shown.String())
		}
	}
}
