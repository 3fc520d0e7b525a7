package demo

import (
	"fmt"
	"html"
	"net/http"
)

// city fills the city office's host.
func (p *place) city(library, press string) {
	var minutes, services, notices [][2]string
	for i, subject := range []string{"The upper mill", "Street lamps on the quay", "A name for the new ferry",
		"Budget, first reading", "Budget, second reading", "The heron"} {
		path := fmt.Sprintf("/council/minutes/2026-%02d", 5+i)
		p.page(path, "Minutes: "+subject, fmt.Sprintf("<p>Present: %d of 15 members. The mayor opened the meeting at "+
			"seven o'clock.</p><p>%s was discussed at length. Adopted with %d votes to %d.</p><p>%s</p>",
			15-i%3, html.EscapeString(subject), 9+i%4, 6-i%4, link("/council/", "All minutes")))
		minutes = append(minutes, [2]string{path, fmt.Sprintf("2026-%02d: %s", 5+i, subject)})
	}
	p.page("/council/", "Council", "<p>Fifteen members, elected until 2028.</p>"+list(minutes))
	for _, s := range [][2]string{{"berths", "Rent a berth"}, {"passports", "Passports"},
		{"weddings", "Weddings at the lighthouse"}, {"waste", "Waste and recycling"}, {"dogs", "Register a dog"}} {
		path := "/services/" + s[0]
		p.page(path, s[1], fmt.Sprintf("<p>Come to room %d on Mill Square, weekdays 8 to 15. <img "+
			"src=\"/icons/%s.svg\" alt=\"\"></p><p>%s</p>", len(s[1]), s[0], link("/services/", "All services")))
		p.add("/icons/"+s[0]+".svg", "image/svg+xml",
			fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="48" height="48"><rect width="48" height="48" `+
				`rx="%d" fill="#cde"/></svg>`, len(s[0])))
		services = append(services, [2]string{path, s[1]})
	}
	p.page("/services/", "Services", list(services))
	for i, n := range []string{"Water off on Mill Street", "Bridge closed for painting",
		"Election of the harbour board", "Found: one bench", "Dates of the Christmas market"} {
		path := fmt.Sprintf("/notices/%d", i+1)
		p.page(path, n, fmt.Sprintf("<p>Posted on %d November 2026 by order of the mayor.</p><p>More in the %s.</p>",
			2+3*i, link(press+"/archive/", "Courier")))
		notices = append(notices, [2]string{path, n})
	}
	p.page("/notices/", "Notices", list(notices)+"<p>"+link("/permits", "Building permits")+
		" are now among the services.</p>")
	p.redirect("/permits", http.StatusMovedPermanently, "/services/")
	p.redirect("/library", http.StatusMovedPermanently, library+"/")
	p.page("/map", "Map of the town", "<p><img class=\"plate\" src=\"/map.png\" alt=\"Map\"></p><p>The "+
		link("/library", "library")+" is at the end of the quay.</p>")
	p.add("/map.png", "image/png", string(picture(360, 240, 77)))
	p.page("/accessibility", "Accessibility", "<p>There is one step, and a ramp beside it.</p>")
	p.page("/contact", "Contact", "<p>Mill Square 1, Lindhaven. The telephone rings in the hall.</p>")
	p.gone("/tender-2021")
	p.page("/", "Welcome to Lindhaven", "<p>Between the river and the sea since 1298.</p>"+list(notices[:3])+
		"<p>"+link("/contact", "Contact")+" · "+link("/accessibility", "Accessibility")+" · "+
		link("/tender-2021", "Tender 2021")+"</p>")
}
