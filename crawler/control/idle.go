package control

import "time"

// Why a crawl that got nowhere ended.
const (
	ReasonNoResponse = "no-response-timeout"
	ReasonInactivity = "inactivity-timeout"
)

// idlePoll is how often is looked whether a crawl gets anywhere.
const idlePoll = time.Second

// Idle stops a crawl that gets nowhere: no byte came, or no worker had a URI, for some time of running. Pauses, for
// whatever reason, are no part of that time.
type Idle struct {
	Course   *Course
	Limits   func() (noResponse, inactivity time.Duration) // as set now; 0: never
	Received func() int64                                  // bytes, or whatever grows when one comes
	Begun    func() int64                                  // URIs that workers were given
	Busy     func() int                                    // workers that have a URI now
}

// Run watches until done is closed.
func (i *Idle) Run(done <-chan struct{}) {
	tick := time.NewTicker(idlePoll)
	defer tick.Stop()
	at := i.Course.Standing().Elapsed
	heard, active := at, at // how long the crawl had run then
	received, begun := i.Received(), i.Begun()
	for {
		select {
		case <-tick.C:
		case <-done:
			return
		}
		at := i.Course.Standing().Elapsed
		if now := i.Received(); now != received {
			received, heard = now, at
		}
		if now := i.Begun(); now != begun || i.Busy() > 0 {
			begun, active = now, at
		}
		noResponse, inactivity := i.Limits()
		switch {
		case inactivity > 0 && at-active >= inactivity:
			i.Course.Stop(ReasonInactivity, 0, "")
		case noResponse > 0 && at-heard >= noResponse:
			i.Course.Stop(ReasonNoResponse, 0, "")
		}
	}
}
