package notices

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/alert"
	agreed "holdfast/catalog/notices"
	"holdfast/internal/seal"
	"holdfast/internal/words"
	"holdfast/notice"
)

// A certificate is told of two weeks before its end, and after it; what is no certificate is not.
func TestCertificateLapses(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	end := now.Add(15 * 24 * time.Hour)
	shape := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, shape, shape, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "node.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[time.Time]int{now: 0, end.Add(-14*24*time.Hour - time.Second): 0, end.Add(-14 * 24 * time.Hour): 1, end.Add(time.Hour): 1} {
		got := Certificate(path, at)
		if len(got) != want || want > 0 && (got[0].Kind != alert.CertificateLapses || got[0].Parameters["date"] != "2026-03-16 00:00 UTC") {
			t.Errorf("at %v: %v", at, got)
		}
	}
	if err := os.WriteFile(path, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := append(Certificate(path, end), append(Certificate("", end), Certificate(path+".none", end)...)...); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// The heartbeat says what failed without its URL, and takes no other answer for success.
func TestHeartbeatURL(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	beat := Heartbeat(s.URL + "/ping/HIDDEN")
	if err := beat(t.Context()); err != nil {
		t.Error(err)
	}
	status = http.StatusNotFound
	if err := beat(t.Context()); err == nil || strings.Contains(err.Error(), "HIDDEN") {
		t.Errorf("%v", err)
	}
	s.Close()
	if err := beat(t.Context()); err == nil || strings.Contains(err.Error(), "HIDDEN") {
		t.Errorf("%v", err)
	}
	if Heartbeat("") != nil {
		t.Error("a heartbeat without a URL")
	}
}

// A node delivers what it has the means for, and says so beforehand.
func TestOffice(t *testing.T) {
	t.Parallel()
	texts, err := words.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	key, err := seal.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	o := &Office{Name: "north-1", Secrets: Secrets{Self: "n", Key: key}, Out: &out, Words: texts, Zones: time.LoadLocation, Now: time.Now,
		Pages: func() string { return "" }}
	for what, tt := range map[string]struct {
		a   agreed.Address
		can bool
	}{
		"mail":               {agreed.Address{Way: agreed.Mail, To: []string{"a@example.org"}}, false},
		"a webhook":          {agreed.Address{Way: agreed.Webhook, Sealed: &agreed.Sealed{Boxes: []agreed.Box{{Node: "n", Key: key.Public()}}}}, true},
		"for others":         {agreed.Address{Way: agreed.Webhook, Sealed: &agreed.Sealed{Boxes: []agreed.Box{{Node: "m", Key: key.Public()}}}}, false},
		"with an old key":    {agreed.Address{Way: agreed.Webhook, Sealed: &agreed.Sealed{Boxes: []agreed.Box{{Node: "n", Key: []byte("old")}}}}, false},
		"without a secret":   {agreed.Address{Way: agreed.Webhook}, false},
		"stderr":             {agreed.Address{Way: agreed.Standard}, true},
		"its own stderr":     {agreed.Address{Way: agreed.Standard, To: []string{"north-1"}}, true},
		"another's stderr":   {agreed.Address{Way: agreed.Standard, To: []string{"south-1"}}, false},
		"of a later program": {agreed.Address{Way: "pigeon"}, false},
	} {
		if o.Can(&tt.a) != tt.can {
			t.Errorf("%s: %t", what, !tt.can)
		}
		err := o.Deliver(t.Context(), &Letter{To: tt.a, Message: notice.Message{ID: "msg_1", Test: true}})
		if (err == nil) != (tt.a.Way == agreed.Standard) { // the webhook's box has nothing in it
			t.Errorf("%s: %v", what, err)
		}
	}
	o.Mail, o.PasswordFile = &notice.Mail{Server: "127.0.0.1:1"}, filepath.Join(t.TempDir(), "none")
	if err := o.Deliver(t.Context(), &Letter{To: agreed.Address{Way: agreed.Mail, To: []string{"a@example.org"}}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without its password: %v", err)
	}
	if id := MessageID("msg_1", "FACB6434b26d3eeb97bba863278de8af"); id != "msg_1@facb6434.holdfast" {
		t.Errorf("%s", id)
	}
	// A language or a zone that this node does not know keeps nobody from being told.
	out.Reset()
	if err := o.Deliver(t.Context(), &Letter{To: agreed.Address{Way: agreed.Standard, Language: "tlh", Zone: "Mars"}, Message: notice.Message{ID: "msg_1", Test: true}}); err != nil ||
		!strings.Contains(out.String(), "This is a test") {
		t.Errorf("%v, %q", err, out.String())
	}
}
