package replay

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"holdfast/access"
	"holdfast/cdx"
)

// calendar is the data of the page that lists the captures of one URL.
type calendar struct {
	Total       int
	First, Last string
	Years       []yearCount
	Year        int
	Months      []month
	Captures    []listed // of the year
	Cut         bool     // not all captures of the year are listed
}

type yearCount struct {
	Year, Captures int
	Height         int // 0 to 10, of its bar
}

type month struct {
	Month time.Month
	Weeks [][7]day
}

// day is a field of a month; Number is 0 outside of it.
type day struct {
	Number   int
	Captures int
	Link     string // to the capture, or to the day's captures below
	Level    string // few, some or many, of its colour
}

// listed is a capture in the list below the months.
type listed struct {
	cdx.Capture
	Anchor  string // on the first of a day
	Blocked bool
	Kind    string // how its status looks: good, look or quiet
}

// maxListed is how many captures of a year are listed one by one.
const maxListed = 2000

// calendar answers /web/*/<url>.
func (h *Handler) calendar(w http.ResponseWriter, r *http.Request, q cdx.Query, t target) {
	wanted, _ := strconv.Atoi(t.timestamp[:min(4, len(t.timestamp))]) // empty: 0, the latest
	cal, missing, err := h.gather(r, q, wanted)
	if err != nil {
		h.unasked(w, r, err)
		return
	}
	if cal.Total == 0 {
		var incomplete *cdx.Incomplete
		if missing > 0 {
			incomplete = &cdx.Incomplete{Shards: make([]int, missing)}
		}
		h.notFound(w, r, t, incomplete)
		return
	}
	h.show(w, r, http.StatusOK, "calendar", view{URL: q.URL, Calendar: cal, Incomplete: missing})
}

// gather counts the captures of a URL by year, and lists those of one year:
// the wanted one, else the latest.
func (h *Handler) gather(r *http.Request, q cdx.Query, wanted int) (*calendar, int, error) {
	cal := &calendar{}
	missing := 0
	counts := map[int]int{}
	days := map[[2]int]int{}
	sight := sightOf(r.Context())
	for c, err := range h.captures.Query(r.Context(), q) {
		var incomplete *cdx.Incomplete
		if errors.As(err, &incomplete) {
			missing = len(incomplete.Shards)
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		at := timeOf(c.Timestamp)
		if at.IsZero() {
			continue
		}
		if cal.Total == 0 {
			cal.First = c.Timestamp
		}
		cal.Total++
		cal.Last = c.Timestamp
		counts[at.Year()]++
		if at.Year() != cal.Year && (wanted == 0 || at.Year() == wanted || cal.Year != wanted) {
			cal.Year, cal.Captures, cal.Cut = at.Year(), cal.Captures[:0], false
			clear(days)
		}
		if at.Year() != cal.Year {
			continue
		}
		day := [2]int{int(at.Month()), at.Day()}
		days[day]++
		if len(cal.Captures) >= maxListed {
			cal.Cut = true
			continue
		}
		item := listed{Capture: c, Blocked: sight.Decide(c.Key, c.Timestamp).Access == access.Block, Kind: kindName(&c)}
		if days[day] == 1 {
			item.Anchor = c.Timestamp[:8]
		}
		cal.Captures = append(cal.Captures, item)
	}
	cal.fill(counts, days, h.prefix(r))
	return cal, missing, nil
}

func kindName(c *cdx.Capture) string {
	switch {
	case c.Revisit():
		return "quiet"
	case c.Status >= 200 && c.Status < 300:
		return "good"
	case c.Status >= 400:
		return "look"
	}
	return "quiet"
}

// fill lays out years and months.
func (c *calendar) fill(counts map[int]int, days map[[2]int]int, prefix string) {
	if c.Total == 0 {
		return
	}
	most := 1
	for _, n := range counts {
		most = max(most, n)
	}
	first, last := timeOf(c.First).Year(), timeOf(c.Last).Year()
	for year := max(first, last-60); year <= last; year++ {
		n := counts[year]
		height := n * 10 / most
		if n > 0 {
			height = max(height, 1)
		}
		c.Years = append(c.Years, yearCount{year, n, height})
	}
	only := map[[2]int]string{}
	for _, item := range c.Captures {
		at := timeOf(item.Timestamp)
		only[[2]int{int(at.Month()), at.Day()}] = prefix + "/web/" + item.Timestamp + "/" + linkSafe(item.URL)
	}
	for m := time.January; m <= time.December; m++ {
		c.Months = append(c.Months, layOut(c.Year, m, days, only))
	}
}

// layOut makes a month's weeks, Monday first.
func layOut(year int, m time.Month, days map[[2]int]int, only map[[2]int]string) month {
	out := month{Month: m}
	first := time.Date(year, m, 1, 0, 0, 0, 0, time.UTC)
	column := (int(first.Weekday()) + 6) % 7
	last := time.Date(year, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
	var week [7]day
	for n := 1; n <= last; n++ {
		at := [2]int{int(m), n}
		d := day{Number: n, Captures: days[at]}
		switch {
		case d.Captures == 1:
			d.Link, d.Level = only[at], "few"
		case d.Captures > 1:
			d.Link = "#d" + first.AddDate(0, 0, n-1).Format("20060102")
			d.Level = "some"
			if d.Captures > 5 {
				d.Level = "many"
			}
		}
		week[column] = d
		if column++; column == 7 || n == last {
			out.Weeks = append(out.Weeks, week)
			week, column = [7]day{}, 0
		}
	}
	return out
}
