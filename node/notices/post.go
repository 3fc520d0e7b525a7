package notices

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
	agreed "holdfast/catalog/notices"
	"holdfast/internal/words"
	"holdfast/notice"
)

// Office is a Post with the means of one node.
type Office struct {
	Name         string       // of the node
	Mail         *notice.Mail // nil: the node sends no mail
	PasswordFile string       // with the password of the mail server, read for each mail; empty: no login
	Secrets      Secrets
	Public       func(netip.Addr) bool // whether an address belongs to the public Internet
	Roots        *x509.CertPool        // that webhooks are trusted by; nil: the machine's
	Out          io.Writer             // standard error
	Words        *words.Words
	Zones        func(string) (*time.Location, error)
	Pages        func() string    // where the archivists' pages are, empty if nobody says
	Now          func() time.Time // this machine's: receivers compare it with theirs
}

// Can reports whether the node has what a delivery to the address takes.
func (o *Office) Can(a *agreed.Address) bool {
	switch a.Way {
	case agreed.Mail:
		return o.Mail != nil
	case agreed.Webhook:
		return o.Secrets.box(a.Sealed) != nil
	case agreed.Standard:
		return len(a.To) == 0 || a.To[0] == o.Name
	}
	return false
}

// Deliver writes a notice in the address's language and sends it. When it returns nil, the receiver has accepted it.
func (o *Office) Deliver(ctx context.Context, letter *Letter) error {
	l := o.Words.Language(letter.To.Language)
	if l == nil {
		l = o.Words.Language("en")
	}
	zone, err := o.Zones(letter.To.Zone)
	if err != nil {
		zone = time.UTC
	}
	m := letter.Message
	m.Pages = o.Pages()
	text := notice.Compose(l, zone, &m)
	switch to := &letter.To; to.Way {
	case agreed.Mail:
		return o.mail(ctx, to, letter.Cluster, m.ID, text)
	case agreed.Webhook:
		return o.hook(ctx, to, &m, text)
	case agreed.Standard:
		return notice.Standard{Out: o.Out}.Send(m.ID, text)
	}
	return fmt.Errorf("address %s: this node does not know the way %s", letter.To.Name, letter.To.Way)
}

func (o *Office) mail(ctx context.Context, to *agreed.Address, cluster, id string, text notice.Text) error {
	if o.Mail == nil {
		return errors.New("this node has no mail server")
	}
	server := *o.Mail
	if o.PasswordFile != "" {
		password, err := os.ReadFile(o.PasswordFile)
		if err != nil {
			return fmt.Errorf("read the password of the mail server: %w", err)
		}
		server.Password = strings.TrimRight(string(password), "\r\n")
	}
	return server.Send(ctx, to.To[0], MessageID(id, cluster), o.Now(), text)
}

// MessageID is the Message-ID of a notice, without brackets: the same whichever node sends it. It is short enough for
// one line of a mail.
func MessageID(id, cluster string) string {
	return id + "@" + strings.ToLower(cluster[:min(len(cluster), 8)]) + ".holdfast"
}

func (o *Office) hook(ctx context.Context, to *agreed.Address, m *notice.Message, text notice.Text) error {
	hook, err := o.Secrets.Open(to.Sealed)
	if err != nil {
		return fmt.Errorf("open the secret of address %s: %w", to.Name, err)
	}
	body, err := notice.Body(m, text)
	if err != nil {
		return err
	}
	receiver := notice.Webhook{URL: hook.URL, Secret: hook.Secret, Inside: to.Inside, Public: o.Public, Roots: o.Roots}
	return receiver.Send(ctx, m.ID, o.Now(), body)
}

// Heartbeat returns what requests the URL, which may be anywhere: who may write cluster.toml says where. nil if there
// is none.
func Heartbeat(text string) func(context.Context) error {
	if text == "" {
		return nil
	}
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, text, nil)
		if err != nil {
			return errors.New("request the heartbeat: no request can be made of its URL")
		}
		r.Header.Set("User-Agent", "Holdfast")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			var of *url.Error
			if errors.As(err, &of) {
				err = of.Err
			}
			return fmt.Errorf("request the heartbeat: %s", notice.Redact(err.Error(), text, r.URL.RequestURI()))
		}
		defer func() { _ = answer.Body.Close() }()
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16))
		if answer.StatusCode < 200 || answer.StatusCode > 299 {
			return fmt.Errorf("request the heartbeat: it answered %d", answer.StatusCode)
		}
		return nil
	}
}

// lapsesWithin is how long before its end a certificate is told of.
const lapsesWithin = 14 * 24 * time.Hour

// Certificate says that the certificate in the file is good for two weeks at most, if it is. A file that cannot be read
// is for others to report.
func Certificate(path string, now time.Time) []alert.Alert {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil || c.NotAfter.Sub(now) > lapsesWithin {
		return nil
	}
	return []alert.Alert{alert.New(alert.CertificateLapses, path, "date",
		catalog.At(c.NotAfter).Std().Format("2006-01-02 15:04 MST"))}
}
