package harvest

import (
	"regexp/syntax"
	"slices"
	"strconv"
)

// Domains is what a job knows of the domains that it is for, beside the settings, which hold for all of them. A job
// that was made by hand has none. Configurations stand in the parts of a job, not in its text.
type Domains struct {
	Objects        Limit           `json:"objects,omitzero"` // the harvest's, for each domain
	Bytes          Limit           `json:"bytes,omitzero"`   // the harvest's, for each domain
	Traps          []string        `json:"traps,omitempty"`  // RE2: URIs that match completely are not fetched
	Configurations []Configuration `json:"-"`
}

// Configuration is what a job harvests of a domain. Of a domain that comes twice, the first counts; the second has a
// line in the statistics and nothing else.
type Configuration struct {
	Domain  string       `json:"domain"` // as domain.Of returns it
	Name    string       `json:"name"`
	Seeds   []string     `json:"seeds"` // what is found from them counts for the domain
	Objects Limit        `json:"objects,omitzero"`
	Bytes   Limit        `json:"bytes,omitzero"`
	Traps   []string     `json:"traps,omitempty"`       // RE2: URIs of the domain that match are not fetched
	Logins  []Credential `json:"credentials,omitempty"` // in parts, with references for secrets: see Part
	// Settings is what was laid over the template. A crawl does not read it: the job's settings have it already.
	Settings Patch `json:"settings,omitempty"`
}

// maxTrap is how many bytes an expression may have.
const maxTrap = 16 << 10

// validate reports whether a crawl can heed the table.
func (d *Domains) validate() error {
	if d == nil {
		return nil
	}
	if err := validTraps("domains: traps", d.Traps); err != nil {
		return err
	}
	known := make(map[[2]string]struct{}, len(d.Configurations))
	for i := range d.Configurations {
		c := &d.Configurations[i]
		if c.Domain == "" || c.Name == "" {
			return invalid("configurations", strconv.Quote(c.Name)+" of "+strconv.Quote(c.Domain),
				"a name and a domain")
		}
		where := "configurations: " + c.Domain + "/" + c.Name
		if _, twice := known[[2]string{c.Domain, c.Name}]; twice {
			return invalid(where, "twice", "once in a job")
		}
		known[[2]string{c.Domain, c.Name}] = struct{}{}
		if err := validTraps(where+": traps", c.Traps); err != nil {
			return err
		}
		for _, login := range c.Logins {
			if err := login.validate(); err != nil {
				return err
			}
		}
		if err := wholeLogins(c.Logins); err != nil {
			return err
		}
	}
	return nil
}

// validTraps refuses what is not an expression. It compiles none: there may be very many.
func validTraps(where string, traps []string) error {
	for _, trap := range traps {
		if len(trap) > maxTrap {
			return invalid(where, strconv.Itoa(len(trap))+" bytes", "expressions of at most "+strconv.Itoa(maxTrap))
		}
		if _, err := syntax.Parse(trap, syntax.Perl); err != nil {
			return invalid(where, strconv.Quote(trap), "a regular expression ("+err.Error()+")")
		}
	}
	return nil
}

// eachSecret returns the table with each secret of a login replaced. It shares no changed part with d.
func (d *Domains) eachSecret(replace func(name, value string) (string, error)) (*Domains, error) {
	if d == nil || !slices.ContainsFunc(d.Configurations, func(c Configuration) bool { return len(c.Logins) > 0 }) {
		return d, nil
	}
	out := *d
	out.Configurations = slices.Clone(d.Configurations)
	for i := range out.Configurations {
		var err error
		if out.Configurations[i], err = out.Configurations[i].eachSecret(replace); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

func (c Configuration) eachSecret(replace func(name, value string) (string, error)) (_ Configuration, err error) {
	if len(c.Logins) > 0 {
		where := "configurations." + c.Domain + "/" + c.Name + ".credentials."
		c.Logins, err = eachCredential(c.Logins, where, replace)
	}
	return c, err
}

// Part returns the configuration with a reference in the place of each secret of its logins, and the secrets, for a
// part of a job. Job.Join puts them back.
func (c Configuration) Part() (Configuration, Secrets, error) {
	secrets := Secrets{}
	parted, err := c.eachSecret(secrets.take)
	return parted, secrets, err
}
