package chain

import (
	"hash/fnv"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/plan"
)

// Bounds on asking again for what is known.
const (
	maxAgain = 3  // so often at most for one URI
	maxWay   = 10 // redirects that are remembered
	// patience is how many URIs of a host may lead back each time before others there are asked for again only once.
	patience = 3
)

// NoteAgain begins the annotation of a URI that was asked for again, since redirects led back to it and its server may
// answer otherwise now. The number of that follows.
const NoteAgain = "askedAgain:"

// valueAgain begins the names of the frontier's values that say how often a URI was asked for again.
const valueAgain = "again/"

// valueWalled begins the names of the frontier's values that say how many URIs of a host led back each time, since one
// was let in.
const valueWalled = "walled/"

// ledLate marks a link that is shown for a while before a page refreshes itself to it: that is no redirect.
const ledLate = "late"

// way is the redirects that led to a URI: Location and Refresh headers, and meta elements.
type way struct {
	again int // how often the URI was asked for again, this time included
	steps []step
}

// step is a URI that redirected, as it was asked for.
type step struct {
	url, key string
	sent     string // a digest of its cookies, or CookiesUnknown
}

// CookiesUnknown stands for the digest of cookies of which nothing is known any more.
const CookiesUnknown = "?"

// String returns the way as the frontier keeps it.
func (w way) String() string {
	b := append(strconv.AppendInt(nil, int64(w.again), 10), '\n')
	for _, s := range w.steps {
		b = append(b, s.sent...)
		b = append(b, ' ')
		b = append(b, s.url...)
		if s.key != s.url {
			b = append(b, ' ')
			b = append(b, s.key...)
		}
		b = append(b, '\n')
	}
	return string(b)
}

// readWay reads what String wrote. What cannot be read is no way.
func readWay(text string) (w way) {
	number, rest, _ := strings.Cut(text, "\n")
	w.again, _ = strconv.Atoi(number)
	for line := range strings.Lines(rest) {
		sent, url, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok {
			return way{}
		}
		s := step{sent: sent}
		if s.url, s.key, ok = strings.Cut(url, " "); !ok {
			s.key = s.url
		}
		w.steps = append(w.steps, s)
	}
	return w
}

// via is the way on, by a redirect of u, which was asked for with cookies of that digest.
func (w way) via(u *frontier.URI, sent string) way {
	steps := append(w.steps[:len(w.steps):len(w.steps)], step{u.URL, plan.KeyOf(u), sent})
	for size := len(way{steps: steps}.String()); len(steps) > maxWay || size > frontier.MaxLed/2; {
		size -= len(steps[0].url) + len(steps[0].key)
		steps = steps[1:]
	}
	return way{steps: steps}
}

// back returns how many redirects before the last step the way leads to that URI, and the step; -1 for none. same tells
// that it is the same URL, not another of the same key.
func (w way) back(u *frontier.URI) (before int, s step, same bool) {
	for i := len(w.steps) - 1; i >= 0; i-- {
		if w.steps[i].url == u.URL {
			return len(w.steps) - 1 - i, w.steps[i], true
		}
	}
	key := plan.KeyOf(u)
	for i := len(w.steps) - 1; i >= 0; i-- {
		if w.steps[i].key == key {
			return len(w.steps) - 1 - i, w.steps[i], false
		}
	}
	return -1, step{}, false
}

// Walls asks for a URI again where redirects lead back to it: with cookies that it was not asked with before, as sites
// do that answer only who has their cookie; or by another URL of the same key, as "/x?" and "/x".
type Walls struct {
	Frontier *frontier.Frontier
	Jar      *fetch.Jar
	Plan     *plan.Current
	Log      *slog.Logger
}

// pass notes for redirects among the URIs found how one was led there, and takes out those that are to be asked for
// again.
func (w *Walls) pass(v *Visit, found []frontier.URI) (rest, again []frontier.URI, err error) {
	if v.Page.ID != "" || v.Exchange == nil {
		return found, nil, nil
	}
	return w.Pass(v.URI, cookieDigest(v.Cookie), found)
}

// Pass is pass for a URI that was asked for with cookies of that digest, or CookiesUnknown.
func (w *Walls) Pass(u *frontier.URI, sent string, found []frontier.URI) (rest, again []frontier.URI, err error) {
	if IsPrerequisite(u) {
		return found, nil, nil
	}
	rest = found[:0]
	in := readWay(u.Led).again > 0
	for _, n := range found {
		if n.Led == ledLate {
			n.Led = ""
			rest = append(rest, n)
			continue
		}
		if n.Path != u.Path+string(rune(extract.Redirect)) {
			rest = append(rest, n)
			continue
		}
		on := readWay(u.Led).via(u, sent)
		before, s, same := on.back(&n)
		if before < 0 {
			n.Led = on.String()
			rest = append(rest, n)
			continue
		}
		if in = false; same {
			n.Key = s.key
		}
		number, err := w.due(u, &n, s, same)
		if err != nil {
			return found, nil, err
		}
		if number == 0 {
			continue // it is known, and would be answered as before
		}
		if n.Path = strings.TrimSuffix(u.Path, strings.Repeat(string(rune(extract.Redirect)), before)); n.Path == "" {
			n.Via = "" // a seed
		}
		on.again = number
		n.Led = on.String()
		again = append(again, n)
	}
	if in {
		err = w.letIn(u)
	}
	return rest, again, err
}

// due decides whether to ask again for a URI that redirects of u lead back to. It returns how often that was done, this
// time included; 0 if it is not to be asked for.
func (w *Walls) due(u, n *frontier.URI, s step, same bool) (number int, err error) {
	t, err := fetch.ParseTarget(n.URL)
	if err != nil {
		return 0, nil
	}
	cookies := ""
	if w.Plan.For(t).Cookies {
		cookies = w.Jar.Cookie(t, time.Now())
	}
	if same && (cookieDigest(cookies) == s.sent || s.sent == CookiesUnknown && cookies == "") {
		return 0, nil
	}
	name := valueAgain + plan.KeyOf(n)
	text, err := w.Frontier.Value(name)
	if err != nil {
		return 0, err
	}
	host := valueWalled + plan.AuthorityOf(t)
	walled, err := w.Frontier.Value(host)
	if err != nil {
		return 0, err
	}
	lost, _ := strconv.Atoi(string(walled))
	number, _ = strconv.Atoi(string(text))
	if number >= maxAgain {
		w.Frontier.SetValue(host, strconv.AppendInt(nil, int64(lost)+1, 10))
	}
	if number >= maxAgain || number > 0 && lost >= patience {
		w.Log.Info("redirects lead back to this URI each time; it is not asked for again", "uri", n.URL, "from", u.URL,
			"asked again", number)
		return 0, nil
	}
	number++
	w.Frontier.SetValue(name, strconv.AppendInt(nil, int64(number), 10))
	w.Log.Info("redirects lead back to this URI: it is asked for again", "uri", n.URL, "from", u.URL,
		"other cookies", same, "time", number)
	return number, nil
}

// letIn notes that a URI which was asked for again led back no more.
func (w *Walls) letIn(u *frontier.URI) error {
	t, err := fetch.ParseTarget(u.URL)
	if err != nil {
		return nil
	}
	host := valueWalled + plan.AuthorityOf(t)
	if walled, err := w.Frontier.Value(host); err != nil || len(walled) == 0 {
		return err
	}
	w.Frontier.SetValue(host, nil)
	return nil
}

// cookieDigest tells cookies apart without keeping them.
func cookieDigest(cookies string) string {
	if cookies == "" {
		return "-"
	}
	h := fnv.New64a()
	h.Write([]byte(cookies))
	return strconv.FormatUint(h.Sum64(), 36)
}
