package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	agreed "holdfast/catalog/jobs"
	"holdfast/cdx"
	"holdfast/harvest/domain"
)

// JobListing is the input of a list of jobs.
type JobListing struct {
	Paging
	State   string    `query:"state" enum:"NEW,SUBMITTED,STARTED,DONE,FAILED,RESUBMITTED,FAILED_REJECTED" doc:"list only jobs in this state"`
	Harvest string    `query:"harvest" doc:"list only jobs of the harvest with this number; 0: jobs made by hand"`
	Run     uint64    `query:"run" maximum:"9007199254740991" doc:"list only jobs of this run of the harvest; needs harvest"`
	Channel string    `query:"channel" maxLength:"64" doc:"list only jobs of this channel"`
	Domain  string    `query:"domain" maxLength:"300" doc:"list only jobs that were made to crawl this domain: by a configuration, or by a seed if made by hand; not those from before level 4"`
	From    time.Time `query:"from" doc:"list only jobs that were created at this time or later"`
	Until   time.Time `query:"until" doc:"list only jobs that were created before this time"`
}

// search is what the catalog is asked for.
func (in *JobListing) search() (q agreed.Search, err error) {
	q = agreed.Search{State: catalog.JobState(in.State), Run: in.Run, Channel: in.Channel}
	if in.Harvest != "" {
		number, err := strconv.ParseUint(in.Harvest, 10, 63)
		if err != nil {
			return q, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, "harvest: want the harvest's number")
		}
		q.Harvest = &number
	} else if in.Run != 0 {
		return q, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, "run: give the harvest, too")
	}
	if in.Domain != "" {
		if q.Domain, err = domainToFind(in.Domain); err != nil {
			return q, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, "domain: "+err.Error())
		}
	}
	q.From, q.Until = between(in.From, in.Until)
	return q, nil
}

// domainToFind is the domain by which jobs are looked for: a name as people write it, or an address or a name without a
// suffix, which seeds of jobs made by hand may have.
func domainToFind(text string) (string, error) {
	name, err := domain.Parse(text)
	host := strings.ToLower(strings.TrimSpace(text))
	if err != nil && !strings.ContainsAny(host, "/: ") && domain.Of(host) == host {
		return host, nil
	}
	return name, err
}

// DomainOfSeed is the domain of a seed of a job made by hand, "" if it has none.
func DomainOfSeed(seed string) string {
	normal, err := cdx.Normalize(strings.TrimSpace(seed))
	if err != nil {
		return ""
	}
	u, err := url.Parse(normal)
	if err != nil {
		return ""
	}
	return domain.Of(u.Hostname())
}

// list returns a page of jobs.
func (s jobs) list(in *JobListing) (wire.Page[wire.Job], error) {
	page := wire.Page[wire.Job]{Items: []wire.Job{}}
	before, there, err := openNumberCursor(in.After, "j")
	if err != nil || there && before == 0 { // there is nothing below job 0
		return page, err
	}
	q, err := in.search()
	if err != nil {
		return page, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		names, err := nodeNames(v)
		if err != nil {
			return err
		}
		found, err := v.Search(q, before, in.Limit)
		if found.Next != 0 {
			page.Next = makeNumberCursor("j", found.Next)
		}
		for _, j := range found.Jobs {
			page.Items = append(page.Items, jobOf(j, names))
		}
		return err
	})
	return page, err
}
