package notice

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Errors of webhooks.
var (
	// ErrWebhook reports that a webhook did not accept a notice.
	ErrWebhook = errors.New("the webhook did not accept the notice")
	// ErrURL reports a text that is no URL of a webhook.
	ErrURL = errors.New("not a webhook's URL")
	// ErrSecret reports a text that is no secret of a webhook.
	ErrSecret = errors.New("not a webhook's secret: want whsec_ and 24 to 64 bytes in base64")
)

// Webhook sends notices to a URL, as Standard Webhooks 1.0 says.
type Webhook struct {
	URL    string
	Secret string // whsec_…
	// Inside lets it connect to addresses that are not public.
	Inside  bool
	Public  func(netip.Addr) bool // whether an address belongs to the public Internet
	Roots   *x509.CertPool        // whose certificates are trusted; nil: the machine's
	Timeout time.Duration         // 0: 20 seconds
}

const (
	webhookTimeout = 20 * time.Second
	secretPrefix   = "whsec_"
	mostAnswer     = 16 << 10
)

// CheckURL returns what is wrong with the URL of a webhook, and its origin, which is no secret.
func CheckURL(text string) (origin string, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Opaque != "":
		return "", fmt.Errorf("%w: want one such as https://chat.example.org/hook", ErrURL)
	case u.User != nil:
		return "", fmt.Errorf("%w: it has a name or a password before its host", ErrURL)
	case u.Fragment != "":
		return "", fmt.Errorf("%w: it has a fragment", ErrURL)
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}

// Key returns the key that a secret stands for.
func Key(secret string) ([]byte, error) {
	text, found := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !found || len(key) < 24 || len(key) > 64 {
		return nil, ErrSecret
	}
	return key, nil
}

// Secret returns the secret that stands for a key.
func Secret(key []byte) string { return secretPrefix + base64.StdEncoding.EncodeToString(key) }

// Signature returns the value of webhook-signature for a body.
func Signature(key []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Body returns a notice as JSON for a webhook.
func Body(m *Message, text Text) ([]byte, error) {
	type one struct {
		Kind       string            `json:"kind"`
		Severity   string            `json:"severity"`
		Subject    string            `json:"subject,omitempty"`
		Node       string            `json:"node,omitempty"`
		Parameters map[string]string `json:"parameters,omitempty"`
		Since      time.Time         `json:"since,omitzero"`
		Cleared    time.Time         `json:"cleared,omitzero"`
		Text       string            `json:"text"`
	}
	list := func(items []Item) []one {
		out := make([]one, len(items))
		for i, it := range items {
			a := it.Alert
			out[i] = one{string(a.Kind), string(a.Severity), a.Subject, a.Node, a.Parameters, a.Since.UTC(),
				it.Cleared.UTC(), a.Text()}
			if a.Since.IsZero() {
				out[i].Since = time.Time{}
			}
			if it.Cleared.IsZero() {
				out[i].Cleared = time.Time{}
			}
		}
		return out
	}
	type data struct {
		Cluster string `json:"cluster"`
		Node    string `json:"node"` // that sends it
		Alone   bool   `json:"alone,omitempty"`
		Title   string `json:"title"`
		Text    string `json:"text"`
		Alerts  []one  `json:"alerts"`
		Lasting []one  `json:"lasting,omitempty"` // of a report
	}
	out := struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      data      `json:"data"`
	}{m.Kind(), m.At.UTC(), data{Cluster: m.Cluster, Node: m.Node, Alone: m.Alone, Title: text.Subject,
		Text: text.Body, Alerts: list(m.News)}}
	if m.Report != nil {
		out.Data.Lasting = list(m.Report.Lasting)
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write a notice as JSON: %w", err)
	}
	return body, nil
}

// Send sends a body. When Send returns nil, the receiver has answered with a status of success. Errors do not say more
// of the URL than its host.
func (h *Webhook) Send(ctx context.Context, id string, at time.Time, body []byte) error {
	key, err := Key(h.Secret)
	if err != nil {
		return err
	}
	if _, err := CheckURL(h.URL); err != nil {
		return err
	}
	timeout := h.Timeout
	if timeout == 0 {
		timeout = webhookTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: no request can be made of the URL", ErrWebhook)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Holdfast")
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	r.Header.Set("webhook-signature", Signature(key, id, at, body))
	client := h.client()
	defer client.CloseIdleConnections()
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrWebhook, h.why(err))
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostAnswer))
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("%w: it answered %d %s", ErrWebhook, answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	return nil
}

// why says what failed, without the URL.
func (h *Webhook) why(err error) string {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	u, parseErr := url.Parse(h.URL)
	if parseErr != nil {
		return "no connection"
	}
	return Redact(err.Error(), h.URL, u.RequestURI(), h.Secret)
}

// client goes straight to the host: through no proxy, which would not ask where it is, and after no redirect, which
// could lead inside.
func (h *Webhook) client() *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: h.guard}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true,
			TLSHandshakeTimeout: 10 * time.Second,
			TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: h.Roots}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// guard lets no connection to an address that is not public, whatever name led to it.
func (h *Webhook) guard(_, address string, _ syscall.RawConn) error {
	if h.Inside {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || h.Public == nil || !h.Public(at.Addr().Unmap().WithZone("")) {
		return errors.New("its address is not public: an operator can let the webhook be inside")
	}
	return nil
}
