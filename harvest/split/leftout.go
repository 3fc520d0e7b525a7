package split

import "holdfast/harvest"

// Stop is why the harvest of a domain ended.
type Stop string

// The stop reasons.
const (
	Completed         Stop = "completed"
	ObjectLimit       Stop = "object-limit"        // the harvest's
	SizeLimit         Stop = "size-limit"          // the harvest's
	ConfigObjectLimit Stop = "config-object-limit" // the configuration's own
	ConfigSizeLimit   Stop = "config-size-limit"   // the configuration's own
	TimeLimit         Stop = "time-limit"
	Unfinished        Stop = "unfinished"
)

// Earlier is how a configuration fared in the snapshot that is continued. The zero value stands for one that was not in
// it.
type Earlier struct {
	Stop   Stop
	Limits Limits // the configuration's own, as they were then
}

// Candidate is a configuration that may be harvested.
type Candidate struct {
	Alias   bool   // its domain is an alias of another one, and the alias has not expired
	Seeds   bool   // it has at least one seed
	Limits  Limits // its own
	Earlier Earlier
}

// Run is what counts of a harvest.
type Run struct {
	Snapshot bool
	Limits   Limits // for each domain
}

// Reason is why a configuration is left out; "" if it is not.
type Reason string

// The reasons.
const (
	IsAlias        Reason = "alias"            // of another domain
	NoSeeds        Reason = "no seeds"         // nothing to begin with
	WasCompleted   Reason = "completed"        // by the snapshot that is continued
	LimitNotRaised Reason = "limit not raised" // which stopped it in the snapshot that is continued
	ZeroLimit      Reason = "zero limit"       // nothing may be fetched
	BadSettings    Reason = "settings"         // what is laid over the template does not fit it
)

// LeftOut says why a configuration is left out of a run, or "".
func (s Settings) LeftOut(c Candidate, run Run) Reason {
	switch {
	case run.Snapshot && c.Alias:
		return IsAlias
	case !c.Seeds:
		return NoSeeds
	case run.Snapshot && c.Earlier.Stop == Completed:
		return WasCompleted
	case run.Snapshot && c.Earlier.stillStops(c.Limits):
		return LimitNotRaised
	case s.LeaveOutZeroLimits && c.Limits.Least(run.Limits).Nothing():
		return ZeroLimit
	}
	return ""
}

// stillStops reports whether one of the configuration's own limits stopped it then and was not raised since.
func (e Earlier) stillStops(now Limits) bool {
	var limit, then harvest.Limit
	switch e.Stop {
	case ConfigObjectLimit:
		limit, then = now.Objects, e.Limits.Objects
	case ConfigSizeLimit:
		limit, then = now.Bytes, e.Limits.Bytes
	default:
		return false
	}
	return !limit.Above(then)
}
