package front

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// ForPages lets requests through to the archivists' pages that browsers send to the address of Pages, and tells all
// others which that is: what another name leads here by cannot ask for anything (DNS rebinding). The Host of the
// requests is then that of the browser, whatever a proxy made of it, so that it can be compared with an Origin.
// Requests must come as Port.Serve passes them on.
func (o Origins) ForPages(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if allowed, reason := o.PagesAllowed(); !allowed {
			say(w, http.StatusForbidden, "The archivists' pages cannot be opened here: "+reason+".")
			return
		}
		b := o.browsed(r)
		if !o.isPages(b) {
			say(w, http.StatusMisdirectedRequest, o.rightPlace(b))
			return
		}
		in := *r
		if in.Host = o.Pages.HostPort(); o.Pages.Loopback() {
			in.Host = o.hostOf(r) // with the port of a tunnel
		}
		pages.ServeHTTP(w, &in)
	})
}

// rightPlace says where the archivists' pages are to who asked elsewhere.
func (o Origins) rightPlace(b browsed) string {
	text := "The archivists' pages are not at this address. Open " + o.Pages.String() + "/ instead."
	switch {
	case !o.Pages.Loopback():
		return text + "\nIf that is the address that you opened: the proxy in front of this node must be named in " +
			"trusted-proxies, and pass on the browser's Host (or send X-Forwarded-Host) and send X-Forwarded-Proto."
	case b.relayed:
		return text + "\nThat works on the node's own machine. For others, set pages-url and access-url in " +
			"cluster.toml, and name the proxy in front of this node in trusted-proxies."
	}
	return text
}

// ForCaptures serves captures, but not under the host name of the archivists' pages: readers are led on to Captures.
// Requests must come as Port.Serve passes them on.
func (o Origins) ForCaptures(captures http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !o.misplaced(o.browsed(r)) {
			captures.ServeHTTP(w, r)
			return
		}
		status := http.StatusMisdirectedRequest
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			w.Header().Set("Location", o.Captures.String()+pathOf(r))
			status = http.StatusTemporaryRedirect
		}
		say(w, status, "Captures are not at this address. Open "+o.Captures.String()+"/ instead.\nIf that is the "+
			"address that you opened: the proxy in front of this node must pass on the browser's Host, or be named "+
			"in trusted-proxies and send X-Forwarded-Host.")
	})
}

// pathOf returns the path and the query that were asked for, as they can stand in a header.
func pathOf(r *http.Request) string {
	path := r.URL.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		path += "?" + r.URL.RawQuery
	}
	return ascii(path)
}

// ascii escapes the bytes that a URL cannot have in a header.
func ascii(text string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// say answers with a text that no browser takes for a page, and nobody keeps.
func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	http.Error(w, text, status)
}

// relayedKey is what the context has the value true for if a proxy that is not trusted passed a request on.
type relayedKey struct{}

// browsed returns what the browser opened that sent the request. Only trusted proxies' X-Forwarded headers are left by
// now; of several values the last one is from the nearest proxy.
func (o Origins) browsed(r *http.Request) browsed {
	b := browsed{scheme: "http", host: nameOf(o.hostOf(r))}
	if r.TLS != nil {
		b.scheme = "https"
	}
	if scheme := last(r.Header.Values("X-Forwarded-Proto")); scheme != "" {
		b.scheme = strings.ToLower(scheme)
	}
	b.relayed, _ = r.Context().Value(relayedKey{}).(bool)
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err == nil && from.Port() == forwardedPort {
		b.relayed = b.relayed || !from.Addr().IsLoopback()
	}
	return b
}

// hostOf returns the Host that the browser sent, as far as a trusted proxy tells.
func (o Origins) hostOf(r *http.Request) string {
	if host := last(r.Header.Values("X-Forwarded-Host")); host != "" && o.believes(nameOf(r.Host)) {
		return host
	}
	return r.Host
}

// last returns the last value of a list that goes over the lines of a header.
func last(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	line := lines[len(lines)-1]
	return strings.TrimSpace(line[strings.LastIndexByte(line, ',')+1:])
}

// nameOf returns the host in a Host header without the port, as config.Origin has it; empty if it is none.
func nameOf(host string) string {
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ""
	}
	if strings.ContainsFunc(port, func(r rune) bool { return r < '0' || r > '9' }) {
		return ""
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.String()
	}
	return strings.ToLower(name)
}
