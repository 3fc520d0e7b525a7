package demo

import (
	"fmt"
	"html"
	"net/http"
)

// item is something that the library keeps.
type item struct{ kind, title, text string }

func items() []item {
	return []item{
		{"maps", "Plan of the harbour before the fire, 1861", "Pen and wash on linen, drawn by the harbour master's " +
			"daughter. The rope walk and the old fish market, both lost in 1863, are shown in full."},
		{"maps", "The river and its mills, 1790", "Copper engraving, hand coloured. Eleven mills are named; of three " +
			"nothing else is known."},
		{"maps", "Tram lines of Lindhaven, 1928", "Printed for the summer exhibition. The line to the lighthouse was " +
			"never built."},
		{"maps", "Depths of the outer roads, 1911", "Soundings in fathoms, corrected in red ink by the pilots until " +
			"1934."},
		{"photographs", "Market day, about 1902", "Glass negative. The woman with the scales is thought to be Marta " +
			"Ollin, who later sat on the first council."},
		{"photographs", "Launch of the Aurora, 1913", "The whole town seems to be on the quay. The photographer " +
			"stood on the roof of the customs house."},
		{"photographs", "Winter of the great ice, 1942", "People walk to the islands over the frozen bay; a horse " +
			"and sledge can be made out at the right."},
		{"photographs", "The reading room, 1956", "New lamps, old chairs. Two of the readers have been named since " +
			"this page was first written."},
		{"manuscripts", "Log of the pilot cutter Ternen", "Three volumes, 1880 to 1897, weather and ships day by day."},
		{"manuscripts", "A recipe book from Mill Street", "In at least four hands; the oldest recipe, for smoked " +
			"eel, is dated 1811."},
		{"manuscripts", "Letters of the lighthouse keeper", "Sixty-two letters to a sister abroad, mostly about " +
			"books and the price of paraffin."},
		{"manuscripts", "Minutes of the reading society", "The founding meeting lent out its first book before it " +
			"had a chairman."},
	}
}

// library fills the library's host.
func (p *place) library(press, city string) {
	var all, news [][2]string
	kinds := map[string][][2]string{}
	for i, it := range items() {
		path, picture := fmt.Sprintf("/item/%d", i+1), fmt.Sprintf("/plates/%02d.png", i+1)
		p.add(picture, "image/png", string(picturePlate(i)))
		body := fmt.Sprintf("<p><img class=\"plate\" src=\"%s\" alt=\"%s\"></p>\n<p>%s</p>\n<p>Shelf mark "+
			"LPL/%s/%04d. %s</p>",
			picture, html.EscapeString(it.title), html.EscapeString(it.text), it.kind[:1], 117*(i+3),
			link("/collections/"+it.kind, "More "+it.kind))
		if i > 0 {
			body += "<p>" + link(fmt.Sprintf("/item/%d", i), "The item before") + "</p>"
		}
		p.page(path, it.title, body)
		kinds[it.kind] = append(kinds[it.kind], [2]string{path, it.title})
	}
	for _, kind := range []string{"maps", "photographs", "manuscripts"} {
		p.page("/collections/"+kind, "Our "+kind, "<p>What we have been given, bought, or found in the attic.</p>"+
			list(kinds[kind]))
		all = append(all, [2]string{"/collections/" + kind, "Our " + kind})
	}
	p.page("/collections/", "Collections", "<p>Anyone may see the originals; ring the day before.</p>"+list(all)+
		"<p>The "+link("/catalogue", "old catalogue")+" has moved here.</p>")
	for i, e := range []string{"Story hour on the boat", "How to read old hands", "Repair your own books",
		"An evening with the Courier"} {
		path := fmt.Sprintf("/events/%d", i+1)
		p.page(path, e, fmt.Sprintf("<p>Thursday %d December 2026, seven o'clock, in the reading room. No charge; "+
			"bring a friend.</p><p>%s</p>", 3+7*i, link("/hours", "When we are open")))
		news = append(news, [2]string{path, e})
	}
	p.page("/events/", "Events", list(news))
	p.page("/hours", "Opening hours", "<table><tr><th>Monday to Friday</th><td>9 to "+
		"19</td></tr><tr><th>Saturday</th><td>10 to 16</td></tr><tr><th>Sunday</th><td>closed, but the boat "+
		"reads</td></tr></table>")
	p.page("/about", "About the library", "<p>Forty-one thousand volumes, six people, one cat. Paid for by the "+
		link(city+"/", "city")+
		"; written about by the "+link(press+"/", "Courier")+".</p><p>"+link("/directions", "How to find us")+" · "+
		link("/annual-report-2019", "Annual report 2019")+"</p>")
	p.redirect("/catalogue", http.StatusMovedPermanently, "/collections/")
	p.redirect("/directions", http.StatusFound, city+"/map")
	p.gone("/annual-report-2019")
	p.page("/", "Welcome", `<p><img class="plate" srcset="/plates/08.png 1x, /plates/06.png 2x" src="/plates/08.png" `+
		`alt="The reading room"></p>`+
		"<p>Read here, borrow, ask. This week: "+link("/events/1", "Story hour on the boat")+".</p>"+list(all))
}
