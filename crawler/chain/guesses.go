package chain

import (
	"strings"

	"holdfast/crawler/extract"
	"holdfast/crawler/fetch"
	"holdfast/crawler/frontier"
	"holdfast/crawler/hosts"
	"holdfast/crawler/plan"
)

// Annotations of guesses.
const (
	noteRests = "guessesRest" // its kind misses more than it finds: it was not fetched
	NoteSame  = "samePage"    // it brought the content of another page of its host, and was not loaded in a browser
)

// ledGuess begins what the frontier keeps of a guess: where it was found.
const ledGuess = "guess "

// IsGuess tells whether a URI is a string that looked like one.
func IsGuess(u *frontier.URI) bool {
	return strings.HasSuffix(u.Path, string(rune(extract.Speculative)))
}

// kindOfGuess is the kind of place where a guess was found.
func kindOfGuess(u *frontier.URI) string {
	kind, there := strings.CutPrefix(u.Led, ledGuess)
	if !there {
		return "unknown"
	}
	return kind
}

// rests decides whether a queued guess is left out, as its kind misses more than it finds.
func rests(g *hosts.Guesses, v *Visit) bool {
	if !IsGuess(v.URI) || !g.Rest(plan.AuthorityOf(v.Target), kindOfGuess(v.URI)) {
		return false
	}
	v.Status = CodeOutOfScope
	v.Note(noteRests)
	return true
}

// learnGuess counts how a guess ended, and notes the content of pages. news is how many URIs were new in it.
func (p *Post) learnGuess(v *Visit, news int) {
	if v.Exchange == nil || v.Page.ID != "" && v.Page.Leave == nil || IsPrerequisite(v.URI) || v.Target.URL == "" {
		return
	}
	host, digest := plan.AuthorityOf(v.Target), v.Exchange.Response.PayloadDigest()
	if IsGuess(v.URI) {
		found := false
		switch {
		case v.Status == 401 || v.Status == 403 || v.Status == 304:
			return // something is there
		case v.Status == 408 || v.Status == 425 || v.Status == 429 || v.Status == 503:
			return // the server has no time, whatever is there
		case fetch.Redirects(v.Status):
			found = news > 0
		case v.Status >= 200 && v.Status < 300:
			found = !p.guesses.Known(host, digest, v.URI.URL)
		}
		if p.guesses.Ended(host, kindOfGuess(v.URI), found) {
			p.log.Info("guesses of this kind miss more than they find: no more of them are tried", "host", host,
				"kind", kindOfGuess(v.URI))
		}
	}
	if v.Status == 200 && v.Exchange.Head.MediaType() == "text/html" && v.Exchange.Truncated == "" {
		p.guesses.Page(host, digest, v.URI.URL)
	}
}
