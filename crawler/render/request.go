package render

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"holdfast/crawler/browser"
	"holdfast/crawler/chain"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
)

// await waits for a request's turn at its host, as its queue's URIs do. It answers false where ctx ends first, or the
// queue may not be asked: it is frozen, or its budget is spent.
func (p *load) await(ctx context.Context, stages *chain.Set, v *chain.Visit) (bool, error) {
	for {
		found, err := p.in.Frontier.Queues(ctx, frontier.QueueFilter{Name: v.URI.Queue})
		if err != nil {
			return false, err
		}
		wait := time.Duration(0)
		now := time.Now()
		if len(found) > 0 {
			q := found[0]
			if q.State == frontier.Frozen || q.State == frontier.Retired && q.Name != p.page.URI.Queue {
				return false, nil
			}
			if q.WakeAt.After(now) && q.Name != p.page.URI.Queue { // the page itself is a URI of its own queue
				wait = q.WakeAt.Sub(now)
			}
		}
		if !chain.Polite(v) {
			return true, nil
		}
		if wait == 0 {
			ok, other := stages.Turn.Take(v)
			if ok {
				return true, nil
			}
			wait = other
		}
		if !chain.Pause(ctx, min(wait, time.Second)) {
			return false, nil
		}
	}
}

// fetch sends a page's request, and once more with a login if the server asks for one that is configured.
func (p *load) fetch(ctx context.Context, stages *chain.Set, v *chain.Visit, r *browser.Request) error {
	full, err := stages.Fetch.Request(ctx, v)
	if err != nil {
		return err
	}
	v.Earlier, full.ETag, full.LastModified = nil, "", "" // the browser needs the answer itself
	full.Method, full.Body, full.ContentType, full.Referer = r.Method, r.Body, r.Header.Get("Content-Type"),
		r.Header.Get("Referer")
	full.Timeout = min(full.Timeout, v.Set.BrowserTime.Std())
	full.Headers = append(slices.Clone(full.Headers), p.headers(r, full)...)
	for {
		if v.Set.Cookies {
			full.Cookie = joinCookies(stages.Fetch.Cookie(v), r.Header.Get("Cookie"))
		}
		x := stages.Fetch.Send(ctx, v, full)
		if x.Status <= 0 || !stages.Fetch.MayAnswer(ctx, v, full) {
			v.Note(x.Notes...)
			return nil
		}
		full.Authorization = stages.Fetch.Logins.Authorization(v.Target, r.Method)
		x.Release()
		v.Exchange, v.Notes = nil, append(v.Notes, "login")
	}
}

// notForwarded are the headers of a browser that are the crawl's own business, or would have a server send less than
// all.
var notForwarded = [...]string{"Accept-Encoding", "Authorization", "Connection", "Content-Length", "Content-Type",
	"Cookie", "Host", "If-Modified-Since", "If-None-Match",
	"If-Range", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Range", "Referer", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "User-Agent"}

// headers are the lines of the browser's request that are sent on, in a fixed order.
func (p *load) headers(r *browser.Request, full fetch.Request) (lines []string) {
	set := map[string]bool{}
	for _, h := range full.Headers {
		name, _, _ := strings.Cut(h, ":")
		set[http.CanonicalHeaderKey(strings.TrimSpace(name))] = true
	}
	for name, values := range r.Header {
		forwarded := !slices.Contains(notForwarded[:], name) || name == "Authorization" && full.Authorization == ""
		if !forwarded || set[name] {
			continue
		}
		for _, value := range values {
			lines = append(lines, name+": "+value)
		}
	}
	slices.Sort(lines)
	return lines
}

// joinCookies joins the crawl's cookies and the browser's. For a name that both have, the browser's value counts,
// because a script may have set it.
func joinCookies(ours, browsers string) string {
	if ours == "" || browsers == "" {
		return ours + browsers
	}
	theirs := map[string]bool{}
	for c := range strings.SplitSeq(browsers, ";") {
		name, _, _ := strings.Cut(strings.TrimSpace(c), "=")
		theirs[name] = true
	}
	var out []string
	for c := range strings.SplitSeq(ours, ";") {
		if name, _, _ := strings.Cut(strings.TrimSpace(c), "="); !theirs[name] {
			out = append(out, strings.TrimSpace(c))
		}
	}
	return strings.Join(append(out, browsers), "; ")
}

// finish records what was fetched for a page and ends its URI. It returns the visit if there is something to answer
// with.
func (p *load) finish(ctx context.Context, stages *chain.Set, v *chain.Visit, r *browser.Request,
	own *frontier.URI) (*chain.Visit, error) {
	x := v.Exchange
	separate := strings.HasPrefix(v.URI.Key, apart)
	if x.Status <= 0 {
		switch {
		case separate && ctx.Err() != nil: // the page is done without it
			return nil, stages.GiveBack.Drop(v.URI)
		case separate:
			return nil, stages.Post.Run(ctx, v)
		}
		to, err := stages.GiveBack.Failed(ctx, v, x.Err, x.Permanent)
		if to == chain.Next && err == nil { // what came is recorded
			_, err = stages.Record.Run(context.WithoutCancel(ctx), v)
		}
		if to != chain.Again && err == nil {
			err = stages.Post.Run(ctx, v)
		}
		return nil, err
	}
	if own != nil && !isPage(x) {
		if err := p.settle(stages, v, *own); err != nil {
			return nil, err
		}
	}
	ctx = context.WithoutCancel(ctx) // what was fetched is recorded even if the page no longer needs it
	if _, err := stages.Extract.Run(ctx, v); err != nil {
		return nil, err
	}
	if r.Method == http.MethodGet || r.Method == http.MethodPost {
		if _, err := stages.Record.Run(ctx, v); err != nil {
			return nil, err
		}
	}
	if err := stages.Post.Run(ctx, v); err != nil {
		return nil, err
	}
	return v, nil
}

// framed tells whether a request is that of a document in a frame.
func framed(r *browser.Request) bool {
	return strings.HasSuffix(r.Header.Get("Sec-Fetch-Dest"), "frame") || r.Header.Get("Upgrade-Insecure-Requests") != ""
}

// mayBePage tells whether a script may be fetching a page, as to have it ready: by the request no more can be told.
func mayBePage(r *browser.Request) bool {
	if framed(r) {
		return false
	}
	if to := r.Header.Get("Sec-Fetch-Dest"); to != "" {
		return to == "empty" || to == "document"
	}
	accept := r.Header.Get("Accept")
	return !strings.HasPrefix(accept, "image/") && !strings.HasPrefix(accept, "text/css")
}

// settle makes a fetch apart one of the URI itself, as it proved to be no page for the browser.
func (p *load) settle(stages *chain.Set, v *chain.Visit, own frontier.URI) error {
	u, err := p.in.Frontier.Claim(own)
	if err != nil || u == nil {
		return err
	}
	aside := v.URI
	v.URI, v.Page.Again = u, false
	return stages.GiveBack.Drop(aside)
}

// hopByHop are the headers of a response that are about the connection, or that a browser is not to remember.
var hopByHop = [...]string{"Alt-Svc", "Connection", "Content-Length", "Keep-Alive", "Nel", "Proxy-Authenticate",
	"Proxy-Connection", "Public-Key-Pins", "Report-To",
	"Strict-Transport-Security", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// answerOf returns what was fetched in the form for a browser: without transfer coding and, where needed, content
// coding. body is the whole content if it is in memory anyway. The answer is valid until the exchange is released.
func answerOf(x *fetch.Exchange) (a *browser.Answer, body []byte, err error) {
	head := make([]byte, x.Response.HeadSize())
	if _, err := x.Response.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, nil, err
	}
	a = &browser.Answer{Status: x.Status, Header: headerOf(head)}
	coding := strings.ToLower(x.Head.Get("Content-Encoding"))
	if x.Head.Get("Transfer-Encoding") == "" && (coding == "" || coding == "identity") {
		all := x.Response.Reader()
		if _, err := all.Seek(x.Response.HeadSize(), io.SeekStart); err != nil {
			return nil, nil, err
		}
		a.Body, a.Size = all, x.Response.Size()-x.Response.HeadSize()
		return a, nil, nil
	}
	body, err = x.Payload(maxDecoded)
	if err != nil && len(body) == 0 && x.BodySize > 0 {
		return nil, nil, err
	}
	a.Header.Del("Content-Encoding")
	a.Body, a.Size = bytes.NewReader(body), int64(len(body))
	return a, body, nil
}

// headerOf are the fields of a response's head that a browser is to see.
func headerOf(head []byte) http.Header {
	h := http.Header{}
	_, rest, _ := bytes.Cut(head, []byte{'\n'})
	for line := range bytes.Lines(rest) {
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok || len(name) == 0 || name[0] == ' ' || name[0] == '\t' {
			continue
		}
		h.Add(string(bytes.TrimSpace(name)), string(bytes.TrimSpace(value)))
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
	return h
}
