package notice

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/alert"
)

const (
	secret   = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	hidden   = "T0KEN-in-the-path"
	webhooks = "/services/" + hidden
)

// The signature is that of Standard Webhooks: the example of its libraries.
func TestSignature(t *testing.T) {
	t.Parallel()
	key, err := Key(secret)
	if err != nil {
		t.Fatal(err)
	}
	got := Signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if Secret(key) != secret {
		t.Error("a secret does not come back")
	}
	for _, bad := range []string{"", "whsec_", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!", secret + secret[6:] + secret[6:]} {
		if _, err := Key(bad); !errors.Is(err, ErrSecret) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// received is what a webhook got.
type received struct {
	header http.Header
	body   []byte
}

// inbox has what a webhook got.
type inbox struct {
	mu  sync.Mutex
	got []received
}

func (i *inbox) all() []received {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.got)
}

func (i *inbox) take(one received) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.got = append(i.got, one)
}

func webhook(t *testing.T, answer func(http.ResponseWriter, *http.Request)) (*Webhook, *inbox) {
	t.Helper()
	in := &inbox{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		in.take(received{r.Header.Clone(), body})
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return &Webhook{URL: s.URL + webhooks, Secret: secret, Inside: true, Timeout: 10 * time.Second}, in
}

// A receiver finds all that Standard Webhooks promises.
func TestWebhookIsSigned(t *testing.T) {
	t.Parallel()
	h, in := webhook(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	m := &Message{ID: "msg_1", Cluster: "archive", Node: "north-1", At: sentAt, News: []Item{{Alert: low()}}}
	body, err := Body(m, Text{"title", "text"})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Send(t.Context(), "msg_1", sentAt, body); err != nil {
		t.Fatal(err)
	}
	got := in.all()[0]
	key, _ := Key(secret)
	if got.header.Get("webhook-id") != "msg_1" || got.header.Get("webhook-timestamp") != "1772350200" || got.header.Get("Content-Type") != "application/json" ||
		got.header.Get("webhook-signature") != Signature(key, "msg_1", sentAt, got.body) || !bytes.Equal(got.body, body) {
		t.Errorf("%v %s", got.header, got.body)
	}
	var read struct {
		Type      string
		Timestamp time.Time
		Data      struct {
			Cluster, Node, Title, Text string
			Alerts                     []struct {
				Kind, Severity, Subject, Node, Text string
				Parameters                          map[string]string
			}
		}
	}
	if err := json.Unmarshal(got.body, &read); err != nil || read.Type != "alert.raised" || !read.Timestamp.Equal(sentAt) || len(read.Data.Alerts) != 1 ||
		read.Data.Alerts[0].Kind != "disk-low" || read.Data.Alerts[0].Parameters["bytes"] != "5" || read.Data.Title != "title" {
		t.Errorf("%+v, %v", read, err)
	}
}

func low() alert.Alert {
	a := alert.At("north-1", []alert.Alert{alert.New(alert.DiskLow, "/data", "bytes", "5")})[0]
	a.Since = sentAt.Add(-time.Hour)
	return a
}

// Whatever a receiver does but answer with success, it has not accepted; and errors show neither URL nor secret.
func TestWebhookRefuses(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"410": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(410) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"closes": func(w http.ResponseWriter, _ *http.Request) { c, _, _ := w.(http.Hijacker).Hijack(); _ = c.Close() },
		"nonsense": func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			_, _ = c.Write([]byte(hidden + " " + webhooks + "\r\n\r\n"))
			_ = c.Close()
		},
		"slow": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, in := webhook(t, answer)
			if name == "slow" {
				h.Timeout = 200 * time.Millisecond
			}
			err := h.Send(t.Context(), "msg_1", sentAt, []byte("{}"))
			if got := len(in.all()); !errors.Is(err, ErrWebhook) || got > 1 || got == 0 && name != "slow" { // who gives up early may not have arrived
				t.Errorf("%v after %d requests", err, got)
			}
			if strings.Contains(err.Error(), webhooks) || strings.Contains(err.Error(), secret) {
				t.Errorf("the error says %q", err)
			}
		})
	}
	h := &Webhook{URL: "http://127.0.0.1:1" + webhooks, Secret: secret, Inside: true}
	if err := h.Send(t.Context(), "msg_1", sentAt, []byte("{}")); !errors.Is(err, ErrWebhook) || strings.Contains(err.Error(), hidden) {
		t.Errorf("%v", err)
	}
}

// Without the right to be inside, no connection is made to an address that is not public, whatever name leads there.
func TestWebhookStaysOutside(t *testing.T) {
	t.Parallel()
	h, in := webhook(t, func(http.ResponseWriter, *http.Request) {})
	h.Inside = false
	var asked []netip.Addr
	h.Public = func(a netip.Addr) bool { asked = append(asked, a); return false }
	for _, url := range []string{h.URL, strings.Replace(h.URL, "127.0.0.1", "localhost", 1), strings.Replace(h.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1)} {
		h.URL = url
		if err := h.Send(t.Context(), "msg_1", sentAt, []byte("{}")); !errors.Is(err, ErrWebhook) || !strings.Contains(err.Error(), "not public") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if len(in.all()) != 0 || len(asked) == 0 || asked[0] != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("%d requests, asked about %v", len(in.all()), asked)
	}
	h.Public = nil
	if err := h.Send(t.Context(), "msg_1", sentAt, []byte("{}")); !errors.Is(err, ErrWebhook) || len(in.all()) != 0 {
		t.Errorf("%v", err)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"https://Chat.example.org/hook?x=1": "https://chat.example.org", "http://127.0.0.1:8080/x": "http://127.0.0.1:8080",
		"": "", "ftp://example.org/": "", "https:///x": "", "https://user:secret@example.org/": "", "https://example.org/#x": "", "https:example.org": "", "/x": ""} {
		got, err := CheckURL(text)
		if got != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
