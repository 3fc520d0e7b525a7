package jobs

import "holdfast/catalog/agree"

// Bounds on a job that is made with one command.
const (
	madeParts   = 2        // the text of the job, and its configurations
	madeBytes   = 64 << 10 // of their texts: in a command they take up to twice as many
	madeDomains = 400
)

// IsSmall reports whether a job of a harvest that has these parts can be made with one command.
func IsSmall(parts []Part) bool {
	bytes, domains := 0, 0
	for i := range parts {
		bytes, domains = bytes+len(parts[i].Text), domains+len(parts[i].Domains)
	}
	return len(parts) > 0 && len(parts) <= madeParts && bytes <= madeBytes && domains <= madeDomains
}

// makeJob makes a small job of a harvest's run at once: it is whole, and NEW. It is refused as openJob, addPart and
// closeJob would be, and stores what they would.
func makeJob(s *agree.State, b *JobMaking) (any, error) {
	if b.Opening.Number == 0 {
		return nil, agree.Refuse(agree.Invalid, "a job that is made at once needs the number of its harvest")
	}
	if !IsSmall(b.Parts) {
		return nil, agree.Refuse(agree.Invalid, "a job with %d parts is not made at once: want 1 to %d parts, of at "+
			"most %d bytes and %d domains", len(b.Parts), madeParts, madeBytes, madeDomains)
	}
	for i := range b.Parts {
		if err := b.Parts[i].check(); err != nil {
			return nil, err
		}
	}
	if b.Parts[0].Kind != PartJob {
		return nil, agree.Refuse(agree.Invalid, "a job that does not begin with the text of a job")
	}
	j, run, err := b.Opening.next(s)
	if err != nil {
		return nil, err
	}
	run.Jobs++
	if err := s.Set(keyRun(j.Number, j.Run), run); err != nil {
		return nil, err
	}
	for i := range b.Parts {
		if err := j.Parts.add(s, &b.Parts[i]); err != nil {
			return nil, err
		}
	}
	if err := made(s, j); err != nil {
		return nil, err
	}
	return j, put(s, place{}, j)
}
