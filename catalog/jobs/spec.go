package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/harvest"
)

// What stands in parts is written by who proposes a job and read by who crawls or shows it, with what is in this
// file. No command reads it.

// ErrUnreadable reports the text of a job that this program cannot read, such as settings of a later one.
var ErrUnreadable = errors.New("the text of the job cannot be read by this program")

// Configuration is a line of a part of configurations.
type Configuration = harvest.Configuration

// partGoal is how many bytes, as JSON, a part is cut at.
const partGoal = 128 << 10

// Divide returns a job's spec as parts: small ones as one, others with their seeds apart.
func Divide(spec harvest.Job) ([]Part, error) { return DivideFor(spec, nil) }

// DivideFor is Divide with the domains of the seeds in the parts; domainOf returns "" for a seed that has none.
func DivideFor(spec harvest.Job, domainOf func(seed string) string) ([]Part, error) {
	domains := DomainsOf(spec.Seeds, domainOf)
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode job %s: %w", spec.Name, err)
	}
	if len(text) <= partGoal && len(domains) <= MaxPartItems {
		return []Part{{Kind: PartJob, Items: len(spec.Seeds), Text: string(text), Domains: domains}}, nil
	}
	seeds := spec.Seeds
	spec.Seeds = nil
	if text, err = json.Marshal(spec); err != nil {
		return nil, fmt.Errorf("encode job %s: %w", spec.Name, err)
	}
	out := cut(string(text))
	var list []string
	size := 0
	for i, seed := range seeds {
		one, err := json.Marshal(seed)
		if err != nil {
			return nil, fmt.Errorf("encode seed %d: %w", i+1, err)
		}
		if len(one) > partGoal {
			return nil, fmt.Errorf("%w: seed %d has %d bytes", harvest.ErrInvalid, i+1, len(seed))
		}
		if size += len(one) + 1; size > partGoal || domainOf != nil && len(list) == MaxPartItems {
			if out, err = withSeeds(out, list, domainOf); err != nil {
				return nil, err
			}
			list, size = nil, len(one)+1
		}
		list = append(list, seed)
	}
	return withSeeds(out, list, domainOf)
}

// DomainsOf returns the domains of seeds that can be domains of a part, each once.
func DomainsOf(seeds []string, domainOf func(seed string) string) (out []string) {
	if domainOf == nil {
		return nil
	}
	known := map[string]bool{}
	for _, seed := range seeds {
		if name := domainOf(seed); !known[name] && isDomain(name) {
			known[name] = true
			out = append(out, name)
		}
	}
	return out
}

func withSeeds(parts []Part, seeds []string, domainOf func(seed string) string) ([]Part, error) {
	if len(seeds) == 0 {
		return parts, nil
	}
	text, err := json.Marshal(seeds)
	return append(parts, Part{Kind: PartSeeds, Items: len(seeds), Text: string(text),
		Domains: DomainsOf(seeds, domainOf)}), err
}

// cut returns the text of a job as parts, between whole characters.
func cut(text string) (out []Part) {
	for text != "" {
		piece := agree.Clip(text, partGoal)
		out = append(out, Part{Kind: PartJob, Text: piece})
		text = text[len(piece):]
	}
	return out
}

// SumOf returns the sum that a job with these parts has.
func SumOf(parts []Part) (agree.Digest, error) {
	var sum agree.Digest
	for i := range parts {
		value, err := encodePart(&parts[i])
		if err != nil {
			return sum, err
		}
		sum = nextSum(sum, value)
	}
	return sum, nil
}

// Spec puts together what a job crawls, from its parts or from where it stood before level 4. Every part is there
// and is the one that the job was made with, or it is an error.
//
// The pieces of kind PartJob are, one after the other, the JSON of a harvest.Job, whose "domains" has the harvest's
// limits for each domain and the expressions of all global lists of crawler traps that hold. The lines of parts of
// kind PartConfigurations become its Domains.Configurations, in their order; their seeds, and those of parts of kind
// PartSeeds, become its Seeds. Logins of configurations have references for their secrets, as those of the settings
// do: the secrets come with the additions of the parts, under the names that harvest.Configuration.Part gives them.
func (v View) Spec(j *Job) (harvest.Job, error) {
	if j.Parts == nil {
		return readJob(j, j.Spec)
	}
	var text strings.Builder
	var seeds []string
	var configurations []Configuration
	var sum agree.Digest
	for n := 1; n <= j.Parts.Count; n++ {
		value, err := v.Reader.Get([]byte(keyPart(j.Parts.Of, n)))
		if err == nil && value == nil {
			err = fmt.Errorf("it has %d parts, and part %d is not there", j.Parts.Count, n)
		}
		var p Part
		if err == nil {
			sum = nextSum(sum, value)
			p, err = decodePart(value)
		}
		if err == nil {
			switch p.Kind {
			case PartJob:
				_, err = text.WriteString(p.Text)
			case PartSeeds:
				seeds, err = moreSeeds(seeds, p)
			case PartConfigurations:
				var more []string
				configurations, more, err = joined(configurations, &p)
				seeds = append(seeds, more...)
			default:
				err = fmt.Errorf("%w: part %d is of kind %q", ErrUnreadable, n, p.Kind)
			}
		}
		if err != nil {
			return harvest.Job{}, fmt.Errorf("put job %d together: %w", j.ID, err)
		}
	}
	if sum != j.Parts.Sum {
		return harvest.Job{}, fmt.Errorf("put job %d together: its parts are not those that it was made with", j.ID)
	}
	spec, err := readJob(j, []byte(text.String()))
	spec.Seeds = append(spec.Seeds, seeds...)
	if len(configurations) > 0 {
		if spec.Domains == nil {
			spec.Domains = &harvest.Domains{}
		}
		spec.Domains.Configurations = configurations
	}
	return spec, err
}

func moreSeeds(seeds []string, p Part) ([]string, error) {
	var more []string
	if err := json.Unmarshal([]byte(p.Text), &more); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if len(more) != p.Items {
		return nil, fmt.Errorf("a part has %d seeds instead of %d", len(more), p.Items)
	}
	return append(seeds, more...), nil
}

func readJob(j *Job, text []byte) (spec harvest.Job, err error) {
	if spec, err = harvest.ParseStoredJob(text); err != nil {
		return spec, fmt.Errorf("%w: job %d: %w", ErrUnreadable, j.ID, err)
	}
	return spec, nil
}

// Head puts together the text of a job's settings alone, without the seeds that are parts of their own.
func (v View) Head(j *Job) (harvest.Job, error) {
	if j.Parts == nil {
		return readJob(j, j.Spec)
	}
	var text strings.Builder
	for n := 1; n <= j.Parts.Count; n++ {
		p, err := v.part(j.Parts.Of, n)
		if err != nil {
			return harvest.Job{}, err
		}
		if p.Kind != PartJob {
			break
		}
		_, _ = text.WriteString(p.Text)
	}
	return readJob(j, []byte(text.String()))
}

// Configurations returns the configurations in the job's parts, nil when it has none.
func (v View) Configurations(j *Job) (all []Configuration, err error) {
	if j.Parts == nil || j.Parts.Configurations == 0 {
		return nil, nil
	}
	for n := 1; n <= j.Parts.Count; n++ {
		p, err := v.part(j.Parts.Of, n)
		if err != nil {
			return nil, err
		}
		if p.Kind != PartConfigurations {
			continue
		}
		if all, _, err = joined(all, &p); err != nil {
			return nil, fmt.Errorf("part %d of job %d: %w", n, j.ID, err)
		}
	}
	return all, nil
}
