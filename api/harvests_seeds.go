package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	rights "holdfast/catalog/people"
	"holdfast/catalog/runs"
	"holdfast/cdx"
	"holdfast/harvest"
	"holdfast/harvest/domain"
)

// limitPattern is the pattern of a limit in a query.
const limitPattern = `^(|none|0|[1-9][0-9]{0,17})$`

// seeded is the input of seeds that are given to an event harvest.
type seeded struct {
	ByHarvest
	TextBody
	Template string `query:"template" maxLength:"64" doc:"template of new configurations; default: as the settings of domains say"`
	Objects  string `query:"objects" maxLength:"18" doc:"limit on objects of new configurations, or none; default: as the settings of domains say"`
	Bytes    string `query:"bytes" maxLength:"18" doc:"limit on bytes of new configurations, or none; default: as the settings of domains say"`
}

func (s domains) harvestSeedsRoutes(api huma.API) {
	handle(s.server, api, route{act: rights.KeepHarvest,
		within: ofHarvest(s.server, func(in *seeded) uint64 { return in.Number }), method: http.MethodPost,
		path: "/api/v1/harvests/{number}/seeds", id: "harvest-seeds", tag: "harvests", stream: true, adjust: takesText,
		summary: "Give an event harvest seeds, one URL on a line: the domain of each gets a seed list and a " +
			"configuration named after the harvest, which the harvest gets; # begins a comment"},
		func(ctx context.Context, in *seeded) (wire.HarvestSeeds, error) { return s.seed(ctx, in) })
}

// Bounds of seeds that are given in bulk.
const (
	maxSeededDomains = 50        // in one decision
	maxSeededBytes   = 120 << 10 // of the lines in one decision
	maxSeededLists   = 400 << 10 // of the lists that one decision writes
)

// seedLine is a seed that was given.
type seedLine struct {
	number int64
	text   string
}

// seeding gives the seeds of one upload to a harvest.
type seeding struct {
	domains
	harvest uint64
	name    string // of lists and configurations
	asked   runs.SeedsAddition
	chosen  bool // the template was
	rights  []catalog.Right
	set     domain.Settings
	out     wire.HarvestSeeds

	lines map[kept.Name][]seedLine // that were read and not given yet
	order []kept.Name              // in which they came
	bytes int
}

// seed reads a list of seeds and gives them to a harvest, those of some domains with each decision.
func (s domains) seed(ctx context.Context, in *seeded) (wire.HarvestSeeds, error) {
	h, err := s.harvest(ctx, in.Number)
	if err != nil {
		return wire.HarvestSeeds{}, err
	}
	if h.Kind != runs.Event {
		return wire.HarvestSeeds{}, problem(http.StatusConflict, wire.CodeConflict,
			fmt.Sprintf("harvest %d is a %s harvest: seeds are given in bulk to event harvests", h.Number, h.Kind))
	}
	to := &seeding{domains: s, harvest: h.Number, name: seedsName(&h), chosen: in.Template != "",
		rights: callerOf(ctx).Rights, lines: map[kept.Name][]seedLine{}}
	if err := to.begin(in); err != nil {
		return wire.HarvestSeeds{}, err
	}
	if err := s.Catalog.Linear(ctx); err != nil {
		return wire.HarvestSeeds{}, err
	}
	err = to.read(ctx, in.body)
	return to.out, err
}

// seedsName is how the seed lists and configurations of an event harvest are named: after it, as far as its name can
// be written so, and with its number, as two harvests may differ in other characters only.
func seedsName(h *runs.Harvest) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '.' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z') {
			return r
		}
		return '_'
	}, h.Name)
	return strings.TrimLeft(name[:min(len(name), 40)], ".") + seedsEnd(h.Number)
}

// seedsEnd is how the name ends that the seed lists of a harvest have, also after the harvest was renamed.
func seedsEnd(number uint64) string { return "-" + strconv.FormatUint(number, 10) }

// begin says which configurations are made.
func (s *seeding) begin(in *seeded) error {
	settings, err := s.domainSettings()
	if err != nil {
		return err
	}
	s.set = settings
	s.asked = runs.SeedsAddition{Number: s.harvest, Template: settings.DefaultTemplate,
		Objects: limitOf(settings.DefaultObjects), Bytes: limitOf(settings.DefaultBytes)}
	if s.chosen {
		s.asked.Template = in.Template
	}
	for to, text := range map[**int64]string{&s.asked.Objects: in.Objects, &s.asked.Bytes: in.Bytes} {
		switch text {
		case "":
		case "none":
			*to = nil
		default:
			most, err := strconv.ParseInt(text, 10, 64)
			if err != nil || most < 0 {
				return refused("limit: given %q, allowed: a number of at least 0, or none", text)
			}
			*to = &most
		}
	}
	return s.hasTemplate(s.rights, &kept.Configuration{Template: s.asked.Template}, settings)
}

// read reads all lines. What was given before an error stays.
func (s *seeding) read(ctx context.Context, body io.Reader) error {
	for lines := domain.NewLines(body); ; {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return s.give(ctx)
		}
		if err != nil {
			return err
		}
		s.out.Lines++
		name, bad := kept.Name(""), line.Bad
		if bad == nil {
			name, bad = domainOfSeed(line.Text)
		}
		if bad != nil {
			s.bad(line.Number, bad.Error())
			if s.out.Bad > kept.MaxBadLines {
				s.out.Reason = fmt.Sprintf("more than %d lines are bad: this is no list of seeds", kept.MaxBadLines)
				return s.give(ctx)
			}
			continue
		}
		full := s.bytes+len(line.Text)+1 > maxSeededBytes
		if _, there := s.lines[name]; full || !there && len(s.order) == maxSeededDomains {
			if err := s.give(ctx); err != nil {
				return err
			}
		}
		if _, there := s.lines[name]; !there {
			s.order = append(s.order, name)
		}
		s.lines[name] = append(s.lines[name], seedLine{line.Number, line.Text})
		s.bytes += len(line.Text) + 1
	}
}

// domainOfSeed returns the domain of what can be a seed.
func domainOfSeed(text string) (kept.Name, error) {
	if err := checkSeed(text); err != nil {
		return "", err
	}
	normal, err := cdx.Normalize(text)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(normal)
	if err != nil {
		return "", fmt.Errorf("%w: seed %.100q: %w", harvest.ErrInvalid, text, err)
	}
	name, err := domain.Parse(domain.Of(u.Hostname()))
	return kept.Name(name), err
}

func (s *seeding) bad(line int64, reason string) {
	s.out.Bad++
	if s.out.Bad <= kept.MaxBadLines {
		s.out.BadLines = append(s.out.BadLines, wire.BadLine{Line: line, Reason: reason})
	}
}

// give gives the harvest what was read.
func (s *seeding) give(ctx context.Context) error {
	for len(s.order) > 0 {
		var p plannedSeeds
		var added runs.SeedsAdded
		err := s.again(ctx, false, func() error {
			if err := s.seesReach(ctx, s.rights); err != nil {
				return err
			}
			err := s.Catalog.View(func(v catalog.View) error {
				stored, err := catalog.DomainsIn(v).Settings()
				if err == nil {
					s.set, err = readDomainSettings(stored)
				}
				if err == nil {
					p, err = s.plan(v)
				}
				return err
			})
			if err != nil || len(p.asked.Domains) == 0 {
				return err
			}
			return s.decide(ctx, runs.AddSeeds, p.asked, &added)
		})
		if err != nil {
			return err
		}
		for _, b := range p.bad {
			s.bad(b.Line, b.Reason)
		}
		s.out.Seeds += p.seeds
		s.out.Known += p.known
		s.out.Domains += added.Domains
		s.out.Configurations += added.Configurations
		for _, name := range s.order[:p.domains] {
			delete(s.lines, name)
		}
		s.order = s.order[p.domains:]
	}
	s.order, s.bytes = nil, 0
	return nil
}

// plannedSeeds is what is to be asked for, as the catalog is now.
type plannedSeeds struct {
	asked   runs.SeedsAddition
	domains int // of those that were read
	bytes   int // of the lists that are written
	bad     []wire.BadLine
	seeds   int64
	known   int64
}

// plan finds out which seeds are missing, of the first of the domains: as many as one decision has room for.
func (s *seeding) plan(v catalog.View) (plannedSeeds, error) {
	p := plannedSeeds{asked: s.asked}
	if err := mayCrawlBy(v, s.rights, &kept.Configuration{Template: s.asked.Template}, s.set); err != nil {
		return p, err
	}
	for _, name := range s.order {
		b, why, err := s.look(v, name)
		if err != nil {
			return p, err
		}
		size := b.size
		for _, l := range s.lines[name] {
			size += len(l.text) + 1
		}
		if p.bytes += size; p.bytes > maxSeededLists && len(p.asked.Domains) > 0 {
			return p, nil
		}
		p.domains++
		p.add(b, why, s.lines[name])
	}
	return p, nil
}

// add adds what a domain lacks of the lines. why is not empty if it cannot be given any.
func (p *plannedSeeds) add(b seededDomain, why string, lines []seedLine) {
	var text strings.Builder
	for _, l := range lines {
		reason := why
		if !b.has[l.text] && why == "" && b.size+text.Len()+len(l.text)+2 > kept.MaxSeedingBytes {
			reason = fmt.Sprintf("seed list %s of %s would have more than %d bytes: upload it as a whole", b.Name,
				b.Domain, kept.MaxSeedingBytes)
		}
		switch {
		case reason != "":
			p.bad = append(p.bad, wire.BadLine{Line: l.number, Reason: reason})
		case b.has[l.text]:
			p.known++
		default:
			b.has[l.text] = true
			_, _ = text.WriteString(l.text + "\n")
			b.Items++
			p.seeds++
		}
	}
	if why == "" && (b.Items > 0 || b.size > 0 && !b.given) {
		b.Text = text.String()
		p.asked.Domains = append(p.asked.Domains, b.Seeding)
	}
}

// seededDomain is a domain that is given seeds, and what it has.
type seededDomain struct {
	kept.Seeding
	has   map[string]bool // seeds of the list
	size  int             // of the list, in bytes
	given bool            // the harvest has the configuration
}

// look says what a domain has. why is not empty if it cannot be given seeds.
func (s *seeding) look(v catalog.View, name kept.Name) (b seededDomain, why string, err error) {
	b = seededDomain{Seeding: kept.Seeding{Domain: name, Name: s.name}, has: map[string]bool{}}
	d, err := catalog.DomainsIn(v).Domain(name)
	if errors.Is(err, catalog.ErrNotFound) {
		return b, "", nil
	}
	if err != nil {
		return b, "", err
	}
	h, err := catalog.RunsIn(v).Harvest(s.harvest)
	switch {
	case err != nil:
		return b, "", err
	case d.Collection != h.Collection:
		return b, fmt.Sprintf("domain %s is of collection %s", name, d.Collection), nil
	case d.Removing:
		return b, fmt.Sprintf("domain %s is being removed", name), nil
	}
	all, err := catalog.RunsIn(v).Configurations(s.harvest, runs.Configuration{Domain: name}, maxConfigurationsOf)
	if err != nil {
		return b, "", err
	}
	for _, c := range all { // the harvest may have had another name
		if c.Domain == name && strings.HasSuffix(c.Name, seedsEnd(s.harvest)) {
			b.Name, b.given = c.Name, true
			break
		}
	}
	if why, err = s.fits(v, name, b.Name); err != nil || why != "" {
		return b, why, err
	}
	if why, err = whyNot(mayFeed(v, s.rights, name, b.Name, s.set)); err != nil || why != "" {
		return b, why, err
	}
	return b, "", b.read(v)
}

// maxConfigurationsOf is how many configurations of one domain a harvest is searched for.
const maxConfigurationsOf = 1000

// fits says why a configuration that is there cannot be the one for the seeds.
func (s *seeding) fits(v catalog.View, name kept.Name, configuration string) (why string, err error) {
	c, err := catalog.DomainsIn(v).Configuration(name, configuration)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	case s.chosen && c.Template != s.asked.Template:
		return fmt.Sprintf("configuration %s of %s has the template %s", c.Name, name, c.Template), nil
	}
	if why, err := whyNot(mayCrawlBy(v, s.rights, &c, s.set)); err != nil || why != "" {
		return why, err
	}
	for _, list := range c.Lists {
		if list == configuration {
			return "", nil
		}
	}
	return fmt.Sprintf("configuration %s of %s does not have the seed list %s", c.Name, name, configuration), nil
}

// whyNot makes of a problem that is to be told the reason for which a domain is given nothing.
func whyNot(err error) (string, error) {
	var no huma.StatusError
	if errors.As(err, &no) {
		return no.Error(), nil
	}
	return "", err
}

// read reads the list that there is.
func (b *seededDomain) read(v catalog.View) error {
	view := catalog.DomainsIn(v)
	l, err := view.List(b.Domain, kept.Seeds, b.Name)
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := view.WholeText(&l)
	if err != nil {
		return err
	}
	b.Version, b.size = l.Version, len(text)
	for lines := domain.NewLines(strings.NewReader(text)); ; {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		b.has[line.Text] = true
	}
}
