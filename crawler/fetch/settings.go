package fetch

import (
	"cmp"

	"holdfast/harvest"
)

// Configure makes r as the settings say that are in effect for its target. What belongs to the whole job, as cookies,
// logins, ways and limiters, is not in them.
func (r *Request) Configure(s *harvest.Settings) {
	r.UserAgent, r.Headers, r.Compression, r.HTTP2 = s.Agent(), s.Headers, s.Compression, HTTP2(s.HTTP2)
	r.Timeout, r.Idle, r.MaxBody = s.FetchTimeout.Std(), s.IdleTimeout.Std(), cmp.Or(s.MaxDocumentBytes, -1)
}
