package demo

import (
	"fmt"
	"html"
	"net/http"
	"strings"
)

// story is an article of the newspaper.
type story struct{ slug, title, text string }

func stories() []story {
	return []story{
		{"ferry-back-in-service", "Ferry back in service after six weeks",
			"The Solvei ran again on Monday morning with forty passengers, two bicycles and a brass band. The new " +
				"engine is quieter; the captain says he misses the old one."},
		{"council-votes-on-mill", "Council votes to keep the upper mill",
			"By nine votes to six the council refused to sell the upper mill. It will be roofed before winter and " +
				"opened to school classes in spring."},
		{"library-finds-map", "Library finds harbour map in attic", "A plan of the harbour drawn two years before " +
			"the great fire lay rolled up behind a chimney. It can be seen on the library's website from today."},
		{"herring-early", "Herring three weeks early", "Boats came home low in the water on Thursday. Nobody at the " +
			"harbour can remember a November like it, and some have tried since 1958."},
		{"school-orchestra", "School orchestra to play for the pilots",
			"Thirty-one children have practised since August. The pilots' choir, not to be outdone, has bought new " +
				"shirts."},
		{"tram-shed-sold", "Old tram shed sold for one crown", "The buyer must repair the roof and let the swallows " +
			"in. Work begins when they have left."},
		{"storm-takes-bench", "Storm takes the mayor's bench", "The bench at the point, given in 1974, was last seen " +
			"heading north. A reward of one cake is offered."},
		{"new-baker", "New baker on Mill Street", "Queues began at five. The rye was gone at half past six; the " +
			"council asks that the tram stop be kept free."},
		{"chess-club", "Chess club wins away", "For the first time since the war Lindhaven beat Norrbro, on the last " +
			"board, in the dark, by candlelight."},
		{"lighthouse-letters", "Lighthouse letters read aloud", "Two hours, sixty-two letters, one lamp. There will " +
			"be another evening in December."},
		{"power-cut", "Power cut traced to heron", "The heron is well."},
		{"bridge-painted", "Bridge painted in the wrong green", "The painters followed the drawing. The drawing, it " +
			"turns out, was of another bridge."},
	}
}

// press fills the newspaper's host.
func (p *place) press(library, city string) {
	var archive [][2]string
	var feed strings.Builder
	fmt.Fprintf(&feed, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss "+
		"version=\"2.0\"><channel><title>%s</title><link>%s/</link><description>%s</description>\n", p.title, p.origin,
		p.motto)
	for i, s := range stories() {
		path := fmt.Sprintf("/2026/11/%02d/%s", 19-i, s.slug)
		picture := fmt.Sprintf("/photos/%s.png", s.slug)
		p.add(picture, "image/png", string(picturePlate(20+i)))
		next := ""
		if i+1 < len(stories()) {
			next = "<p>The day before: " + link(fmt.Sprintf("/2026/11/%02d/%s", 18-i, stories()[i+1].slug),
				stories()[i+1].title) + "</p>"
		}
		p.page(path, s.title, fmt.Sprintf("<p class=\"date\">%d November 2026</p>\n<p><img class=\"plate\" "+
			"src=\"%s\" alt=\"\"></p>\n<p>%s</p>\n%s", 19-i, picture, html.EscapeString(s.text), next))
		archive = append(archive, [2]string{path, s.title})
		fmt.Fprintf(&feed, "<item><title>%s</title><link>%s%s</link></item>\n", html.EscapeString(s.title), p.origin,
			path)
	}
	feed.WriteString("</channel></rss>\n")
	p.add("/feed.xml", "application/rss+xml", feed.String())
	p.page("/archive/", "Archive", "<p>This month's stories.</p>"+list(archive))
	p.page("/weather", "Weather", "<p>Wind from the west, as usual. <img src=\"/weather.svg\" alt=\"A cloud\" "+
		"style=\"background-image: url(/style/paper.svg)\"></p>")
	p.add("/weather.svg", "image/svg+xml",
		`<svg xmlns="http://www.w3.org/2000/svg" width="120" height="70"><ellipse cx="60" cy="40" rx="50" ry="24" `+
			`fill="#9bb"/></svg>`)
	p.page("/letters", "Letters", "<p>Sir, the cat in the "+link(library+"/about", "library")+
		" has been seen on the counter again.</p><p>Sir, why is the "+
		link(city+"/notices/2", "bridge closed")+"?</p><p>Sir, my letter of "+link("/letters/1998", "1998")+
		" has not been answered.</p>")
	p.gone("/letters/1998")
	p.page("/about", "The paper", "<p>Written by nine people and printed by one. "+link("/subscribe", "Subscribe")+". "+
		link("/feed.xml", "Feed")+".</p>")
	p.redirect("/subscribe", http.StatusSeeOther, "/about")
	p.redirect("/today", http.StatusTemporaryRedirect, "/now")
	p.page("/now", "At this moment", "<p>It is "+timeMark+" and you are visitor number "+visitMark+".</p>")
	p.pages["/now"].Changes = true
	p.page("/", "Front page", "<p>"+link("/today", "What is happening now")+"</p>"+list(archive[:5])+"<p>"+
		link("/weather", "Weather")+"</p>")
}
