package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/dustin/go-humanize"

	"holdfast/harvest"
)

// Bytes is a number of bytes; as text "1GiB", "500MB" or a plain number.
type Bytes int64

// UnmarshalText reads a number of bytes with or without a unit.
func (b *Bytes) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	if err != nil || n > math.MaxInt64 {
		return fmt.Errorf("%q is not a number of bytes such as \"500MB\" or \"1GiB\"", text)
	}
	*b = Bytes(n)
	return nil
}

// MarshalText writes the number as String does.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String returns the number with the largest binary unit that divides it.
func (b Bytes) String() string {
	for _, u := range []struct {
		size Bytes
		name string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if b >= u.size && b%u.size == 0 {
			return strconv.FormatInt(int64(b/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// FileMode is the permissions of a file; as text "0644".
type FileMode fs.FileMode

// UnmarshalText reads permissions in octal. The owner must be able to read and write, and nobody may run a file.
func (m *FileMode) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 8, 32)
	if err != nil || n&^0o666 != 0 || n&0o600 != 0o600 {
		return fmt.Errorf("%q is not the permissions of a file, such as \"0640\" or \"0644\"", text)
	}
	*m = FileMode(n)
	return nil
}

// MarshalText writes the permissions as String does.
func (m FileMode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// String returns the permissions in octal.
func (m FileMode) String() string { return fmt.Sprintf("%04o", uint32(m)) }

// Duration is a span of time; as text "30d", "6h", "90s".
type Duration time.Duration

// UnmarshalText reads a span; d stands for 24 hours.
func (d *Duration) UnmarshalText(text []byte) error {
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err == nil && n >= 0 && n < 36500 {
			*d = Duration(n * float64(24*time.Hour))
			return nil
		}
	}
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a span of time such as \"30d\", \"6h\" or \"90s\"", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes the span as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String returns the span, in days where it is whole days.
func (d Duration) String() string {
	const day = 24 * time.Hour
	if v := time.Duration(d); v >= day && v%day == 0 {
		return strconv.FormatInt(int64(v/day), 10) + "d"
	}
	return time.Duration(d).String()
}

func logLevels() []string { return []string{"debug", "info", "warn", "error"} }

// Defaults returns what holds where cluster.toml says nothing.
func Defaults() Settings {
	return Settings{
		Data:       new("/var/lib/holdfast"),
		Peer:       new("0.0.0.0:7480"),
		Memory:     new(Bytes(1536 << 20)),
		Reserve:    new(Bytes(1 << 30)),
		Bandwidth:  new(Bytes(0)),
		Giving:     new(Bytes(0)),
		AuditPace:  new(Bytes(50 << 20)),
		AuditEvery: new(Duration(90 * 24 * time.Hour)),
		AuditSettings: AuditSettings{
			PresenceEvery: new(Duration(24 * time.Hour)),
			AuditHours:    new(Hours{}),
			AuditAge:      new(Duration(0)),
			Challenges:    new(0.01),
			LedgerEvery:   new(Duration(24 * time.Hour)),
			RebuildAfter:  new(Duration(24 * time.Hour)),
			DiskGrace:     new(Duration(24 * time.Hour)),
		},
		Crawls:    new(2),
		Channels:  []string{"FOCUSED", "SNAPSHOT"},
		Lease:     new(Duration(6 * time.Hour)),
		RaftLog:   new(Bytes(1 << 30)),
		FilesMode: new(FileMode(0o644)),

		Organization: new("holdfast"),

		LogSettings: LogSettings{
			LogLevel:    new("info"),
			LogFormat:   new("text"),
			OTLPURL:     new(""),
			LogFileSize: new(Bytes(16 << 20)),
			LogFiles:    new(5),
		},
		BatchSettings: BatchSettings{BatchFiles: new(2), BatchPace: new(Bytes(0)), BatchMemory: new(Bytes(64 << 20))},
		PortSettings: PortSettings{
			API:            new("127.0.0.1:7481"),
			Access:         new("127.0.0.1:7482"),
			Certificate:    new(""),
			CertificateKey: new(""),
			TrustedProxies: []string{},
			PagesURL:       new(Origin{}),
			AccessURL:      new(Origin{}),
			AccessAge:      new(Duration(24 * time.Hour)),
		},
		NoticeSettings: NoticeSettings{
			SMTP:             new(""),
			SMTPTLS:          new("starttls"),
			SMTPFrom:         new(""),
			SMTPUser:         new(""),
			SMTPPasswordFile: new(""),
			HeartbeatURL:     new(""),
		},
		OpenIDSettings: OpenIDSettings{
			OpenIDIssuer:      new(""),
			OpenIDClient:      new(""),
			OpenIDSecretFile:  new(""),
			OpenIDName:        new(""),
			OpenIDScopes:      []string{"openid", "profile", "email"},
			OpenIDGroupsClaim: new("groups"),
			OpenIDGroups:      []GroupRule{},
			OpenIDCreate:      new(false),
		},
		BackupSettings: BackupSettings{
			BackupKey:    new(""),
			BackupFolder: new(""),
			BackupEvery:  new(Duration(24 * time.Hour)),
			BackupKeep:   new(7),
		},
		LocalToken: new("admin"),
		SecretsTo:  []string{},
		LanguageSettings: LanguageSettings{
			Languages:     []string{"en", "da", "it", "fr", "de"},
			LanguageFiles: new(""),
		},
	}
}

// checkAddress returns what is wrong with a host:port, or nil.
func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("want host:port, as in \"0.0.0.0:7480\"")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("port %q: want a number up to 65535", port)
	}
	return nil
}

// describe says where in the file a decoding error is.
func describe(path string, err error) string {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		message := strings.TrimPrefix(err.Error(), "toml: ")
		var line int
		if n, _ := fmt.Sscanf(message, "line %d", &line); n == 1 {
			_, message, _ = strings.Cut(message, " ")
			_, message, _ = strings.Cut(message, " ")
			return fmt.Sprintf("%s:%d: %s", path, line, plainly(message))
		}
		return path + ": " + message
	}
	message := parse.Message
	if inner := errors.Unwrap(parse); message == "" && inner != nil {
		message = inner.Error()
	}
	if message == "" {
		message = strings.TrimPrefix(parse.Error(), "toml: ")
	}
	if key := parse.LastKey[strings.LastIndex(parse.LastKey, ".")+1:]; key != "" && !strings.Contains(message, key) {
		message = key + ": " + message
	}
	return fmt.Sprintf("%s:%d: %s", path, parse.Position.Line, message)
}

// plainly says which type of value a key needs.
func plainly(message string) string {
	key, types, ok := strings.Cut(message, `"): incompatible types: TOML value has type `)
	if !ok {
		return message
	}
	given, want, _ := strings.Cut(types, "; destination has type ")
	words := map[string]string{"slice": `a list, as in ["a", "b"]`, "string": "a text in quotes",
		"bool": "true or false", "boolean": "true or false",
		"integer": "a whole number", "int": "a whole number", "int64": "a whole number",
		"float": "a number", "array": "a list"}
	for _, word := range []*string{&given, &want} {
		if plain, ok := words[strings.TrimSpace(*word)]; ok {
			*word = plain
		}
	}
	key = strings.TrimPrefix(key, `(last key "`)
	return fmt.Sprintf("%s: want %s, not %s", key[strings.LastIndex(key, ".")+1:], want, given)
}

// unknownKey says where an unknown key is, and suggests a known one.
func unknownKey(path, text string, key toml.Key) string {
	last, table := key[len(key)-1], ""
	if len(key) > 1 {
		table = key[len(key)-2]
	}
	return fmt.Sprintf("%s:%d: %s", path, lineOf(text, last, ""), suggest("key", last, keysOf(table)))
}

// keysOf returns the keys that a [[replica]], a [[node]] or the top of the file may have.
func keysOf(table string) []string {
	settings := []string{"data", "files", "peer", "api", "access", "memory", "reserve", "bandwidth", "bandwidth-out",
		"audit-pace", "audit-every", "presence-every", "audit-hours", "audit-age", "challenge-share",
		"batch-files", "batch-pace", "batch-memory",
		"ledger-every", "rebuild-after", "disk-grace", "access-age", "crawls", "channels", "lease", "raft-log",
		"log-level", "log-format", "otlp-url",
		"log-file-size", "log-files", "files-mode", "organization", "local-token", "certificate", "certificate-key",
		"trusted-proxies", "pages-url", "access-url", "secrets-to", "languages", "language-files", "smtp", "smtp-tls",
		"smtp-from", "smtp-user", "smtp-password-file", "heartbeat-url",
		"openid-issuer", "openid-client", "openid-secret-file", "openid-name", "openid-scopes", "openid-groups-claim",
		"openid-groups", "openid-create", "backup-key", "backup-folder", "backup-every", "backup-keep"}
	switch table {
	case "openid-groups":
		return []string{"group", "role", "collection", "place"}
	case "replica":
		return append(settings, "name", "kind", "place", "collections")
	case "node":
		return append(settings, "name", "replica", "addresses", "out-only", "weight")
	}
	return append(settings, "cluster", "profile", "collections", "replica", "node")
}

// suggest says that a word is unknown, and suggests a known one.
func suggest(what, given string, known []string) string {
	best := harvest.Nearest(given, slices.Values(known))
	if best != "" {
		return fmt.Sprintf("unknown %s %q, did you mean %q?", what, given, best)
	}
	if len(known) == 0 {
		return fmt.Sprintf("unknown %s %q, and there is none", what, given)
	}
	return fmt.Sprintf("unknown %s %q, want one of: %s", what, given, strings.Join(known, ", "))
}

// at returns "line N: " for the line that sets the key to the value, or nothing if there is none.
func at(text, key, value string) string {
	if n := lineOf(text, key, value); n > 0 {
		return fmt.Sprintf("line %d: ", n)
	}
	return ""
}

// lineOf returns the number of the first line that sets key, to the value if one is given, or 0.
func lineOf(text, key, value string) int {
	for i, line := range strings.Split(text, "\n") {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			name = strings.Trim(name, "[]")
		}
		if strings.Trim(strings.TrimSpace(name), `"'`) == key &&
			(value == "" || strings.Contains(rest, `"`+value+`"`)) {
			return i + 1
		}
	}
	return 0
}
