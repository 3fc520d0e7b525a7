package demo

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"time"
)

// place is one host while it is built.
type place struct {
	origin string
	title  string
	motto  string
	menu   [][2]string // path, text
	color  string
	pages  map[string]*Page
}

// build makes all that the site serves.
func (s *Site) build(port int) {
	hosts := Hosts()
	library := &place{origin: origin(hosts[0], port), title: "Lindhaven Public Library",
		motto: "Founded 1874 by the reading society of the harbour workers",
		color: "#3b4f7a", menu: [][2]string{{"/", "Home"}, {"/collections/", "Collections"}, {"/events/", "Events"},
			{"/hours", "Opening hours"}, {"/about", "About"}}}
	press := &place{origin: origin(hosts[1], port), title: "The Lindhaven Courier",
		motto: "News from the river to the sea, every weekday but Tuesday",
		color: "#7a3b3b", menu: [][2]string{{"/", "Front page"}, {"/archive/", "Archive"}, {"/weather", "Weather"},
			{"/letters", "Letters"}, {"/about", "The paper"}}}
	city := &place{origin: origin(hosts[2], port), title: "City of Lindhaven", motto: "Your city office, Mill Square 1",
		color: "#3b7a57", menu: [][2]string{{"/", "Welcome"}, {"/council/", "Council"}, {"/services/", "Services"},
			{"/notices/", "Notices"}, {"/map", "Map"}}}
	for i, p := range []*place{library, press, city} {
		p.pages = map[string]*Page{}
		s.pages[hosts[i]] = p.pages
	}
	library.furnish()
	press.furnish()
	city.furnish()
	library.library(press.origin, city.origin)
	press.press(library.origin, city.origin)
	city.city(library.origin, press.origin)
	for _, p := range []*place{library, press, city} {
		p.siteMap()
	}
}

// furnish adds what every host has: styles, a logo, a favicon, robots.txt.
func (p *place) furnish() {
	p.add("/style/main.css", "text/css; charset=utf-8", fmt.Sprintf(`@import url("print.css") print;
body { margin: 0 auto; max-width: 52rem; font: 17px/1.5 Georgia, serif; color: #222;
  background: #fdfcf9 url(paper.svg); }
header { background: %s url('wave.svg') repeat-x bottom; color: #fff; padding: 1rem 1.5rem 2rem; }
header img { float: right; width: 64px; }
nav a { color: #fff; margin-right: 1.2rem; }
main { padding: 1rem 1.5rem; }
img.plate { max-width: 100%%; border: 1px solid #bbb; }
footer { border-top: 1px solid #ccc; padding: 1rem 1.5rem; font-size: 85%%; }
`, p.color))
	p.add("/style/print.css", "text/css; charset=utf-8", "nav { display: none }\nbody { background: none; font-size: "+
		"11pt }\n")
	p.add("/style/paper.svg", "image/svg+xml",
		`<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><path d="M0 40L40 0" stroke="#f3efe4"/></svg>`)
	p.add("/style/wave.svg", "image/svg+xml",
		`<svg xmlns="http://www.w3.org/2000/svg" width="80" height="16"><path d="M0 8q20-8 40 0t40 0v8H0z" `+
			`fill="#fdfcf9"/></svg>`)
	p.add("/logo.svg", "image/svg+xml", fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 `+
		`64"><circle cx="32" cy="32" r="30" fill="#fff"/><path d="M12 40q20-30 40 0z" fill="%s"/></svg>`, p.color))
	p.add("/favicon.png", "image/png", string(picture(16, 16, len(p.title))))
	p.add("/robots.txt", "text/plain; charset=utf-8",
		"User-agent: *\nDisallow: /internal/\nCrawl-delay: 0\n\nSitemap: "+p.origin+"/sitemap.xml\n")
	for _, name := range []string{"rota", "drafts"} {
		p.page("/internal/"+name, "Internal: "+name, "<p>For the staff. robots.txt asks crawlers to stay out.</p>")
		p.pages["/internal/"+name].Refused = true
	}
}

// add adds content that is served unchanged.
func (p *place) add(path, media, body string) {
	p.pages[path] = &Page{URL: p.origin + path, Status: http.StatusOK, Type: media, path: path, body: []byte(body)}
}

// redirect adds a redirect to a path of this host or a URL.
func (p *place) redirect(path string, status int, to string) {
	if strings.HasPrefix(to, "/") {
		to = p.origin + to
	}
	body := `<p>See <a href="` + html.EscapeString(to) + `">the new place</a>.</p>`
	p.pages[path] = &Page{URL: p.origin + path, Status: status, Type: "text/html; charset=utf-8", Location: to,
		path: path, body: []byte(body)}
}

// gone adds a page that is linked but not there.
func (p *place) gone(path string) {
	p.page(path, "Not found", "<p>This page has been taken down.</p>")
	p.pages[path].Status = http.StatusNotFound
}

// page adds a page of the host's look.
func (p *place) page(path, title, main string) {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>%s – %s</title>\n",
		html.EscapeString(title), html.EscapeString(p.title))
	b.WriteString("<link rel=\"stylesheet\" href=\"/style/main.css\">\n<link rel=\"icon\" " +
		"href=\"/favicon.png\">\n</head>\n<body>\n<header><img src=\"/logo.svg\" alt=\"\">\n")
	fmt.Fprintf(&b, "<strong>%s</strong><br><em>%s</em>\n<nav>", html.EscapeString(p.title), html.EscapeString(p.motto))
	for _, m := range p.menu {
		fmt.Fprintf(&b, `<a href="%s">%s</a> `, m[0], html.EscapeString(m[1]))
	}
	fmt.Fprintf(&b, "</nav></header>\n<main>\n<h1>%s</h1>\n%s\n</main>\n", html.EscapeString(title), main)
	b.WriteString("<footer><a href=\"/sitemap.xml\">Site map</a> · <a href=\"/internal/rota\">Staff</a> · <a " +
		"href=\"/internal/drafts\">Drafts</a></footer>\n</body>\n</html>\n")
	p.add(path, "text/html; charset=utf-8", b.String())
}

// siteMap adds the map of the host's pages, which names them in order.
func (p *place) siteMap() {
	var paths []string
	for path, page := range p.pages {
		if page.Status == http.StatusOK && strings.HasPrefix(page.Type, "text/html") && !page.Refused {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset " +
		"xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n")
	for _, path := range paths {
		fmt.Fprintf(&b, "  <url><loc>%s%s</loc></url>\n", p.origin, path)
	}
	b.WriteString("</urlset>\n")
	p.add("/sitemap.xml", "application/xml", b.String())
}

const (
	visitMark = "@VISIT@"
	timeMark  = "@TIME@"
)

// changing is the body of a page that is different at each visit.
func changing(p *Page, visit int64, now time.Time) []byte {
	body := bytes.ReplaceAll(p.body, []byte(visitMark), fmt.Append(nil, visit))
	return bytes.ReplaceAll(body, []byte(timeMark), []byte(now.UTC().Format("2 January 2006, 15:04:05.000 UTC")))
}

// link is an anchor.
func link(href, text string) string {
	return `<a href="` + html.EscapeString(href) + `">` + html.EscapeString(text) + `</a>`
}

// list is a list of anchors: path, text.
func list(items [][2]string) string {
	var b strings.Builder
	b.WriteString("<ul>\n")
	for _, it := range items {
		b.WriteString("<li>" + link(it[0], it[1]) + "</li>\n")
	}
	b.WriteString("</ul>")
	return b.String()
}
