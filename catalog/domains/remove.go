package domains

import (
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/jobs"
)

// removeChunk is how many keys of a domain one command removes, of those that a domain may have many of.
const removeChunk = 600

// remove removes a domain, some of what it has with each command. The answer is whether something is left; then it is
// asked for again.
func remove(s *agree.State, b *Ref) (any, error) {
	d, there, err := agree.Get[Domain](s, keyDomain(b.Name))
	if err != nil || !there {
		return nil, agree.OrNotFound(err, "no domain %q", agree.Clip(string(b.Name), 253))
	}
	if first, err := NewView(s).AliasesOf(d.Name, "", 1); err != nil || len(first) > 0 {
		if err != nil {
			return nil, err
		}
		return nil, agree.Refuse(agree.Conflict, "domain %s is used: %s is an alias of it", d.Name, first[0])
	}
	if !d.Removing {
		d.Removing = true
		if err := s.Event(Remove, string(d.Name), "collection=%s reason=%s", d.Collection,
			agree.ClipReason(b.Reason)); err != nil {
			return nil, err
		}
	}
	left, err := removeParts(s, d.Name)
	if err != nil {
		return nil, err
	}
	if left {
		return true, put(s, &d)
	}
	dropAlias(s, &d)
	UseFields(s, OfDomains, string(d.Name), d.Fields, nil)
	s.Delete(keyDomain(d.Name))
	return false, count(s, d.Collection, -1)
}

// removeParts removes configurations, lists and texts of a domain, and reports whether some may be left.
func removeParts(s *agree.State, name Name) (left bool, err error) {
	room := removeChunk
	configs, err := agree.List[Configuration](s, prefixConfigsOf(name), "", room/4)
	if err != nil {
		return false, err
	}
	for i := range configs {
		if err := dropConfiguration(s, &configs[i]); err != nil {
			return false, err
		}
		room -= 4
	}
	for _, prefix := range []string{prefixTexts, prefixOpen, prefixLists} {
		if room <= 0 {
			return true, nil
		}
		tails, err := agree.Tails(s, prefix+string(name)+"/", "", room)
		if err != nil {
			return false, err
		}
		for _, tail := range tails {
			s.Delete(strings.Join([]string{prefix, string(name), "/", tail}, ""))
		}
		room -= len(tails)
	}
	return room <= 0, nil
}

// dropConfiguration removes a configuration, and its secret if nothing else uses that.
func dropConfiguration(s *agree.State, c *Configuration) error {
	s.Delete(keyConfig(c.Domain, c.Name))
	s.Delete(keyTemplate(c))
	if c.Secret == "" {
		return nil
	}
	return jobs.FreeSecret(s, c.Secret, jobs.ConfigurationUser(string(c.Domain), c.Name))
}
