package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	"holdfast/harvest"
	"holdfast/harvest/domain"
)

// aliasesShown is how many aliases of a domain are shown.
const aliasesShown = 100

// domainSettings returns the settings of domains.
func (s *server) domainSettings() (settings domain.Settings, err error) {
	err = s.Catalog.View(func(v catalog.View) error {
		stored, err := catalog.DomainsIn(v).Settings()
		if err == nil {
			settings, err = readDomainSettings(stored)
		}
		return err
	})
	return settings, err
}

func readDomainSettings(stored kept.Settings) (domain.Settings, error) {
	if stored.Version == 0 {
		return domain.DefaultSettings(), nil
	}
	settings, err := domain.ParseSettings([]byte(stored.Text))
	if err != nil {
		return settings, fmt.Errorf("read the settings of domains: %w", err)
	}
	return settings, nil
}

// list returns a page of domains.
func (s domains) list(prefix, cursor string, limit int) (wire.Page[wire.Domain], error) {
	page := wire.Page[wire.Domain]{Items: []wire.Domain{}}
	after, err := openCursor(cursor, "d")
	if err != nil {
		return page, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		now, err := catalog.PeopleIn(v).Now(catalog.At(s.now()))
		if err != nil {
			return err
		}
		all, err := catalog.DomainsIn(v).Domains(prefix, kept.Name(after), limit+1)
		if len(all) > limit {
			all = all[:limit]
			page.Next = makeCursor("d", string(all[limit-1].Name))
		}
		for i := range all {
			page.Items = append(page.Items, domainOf(&all[i], now))
		}
		return err
	})
	return page, err
}

// openAliasCursor returns the alias that a page is to follow, nil for the list's start.
func openAliasCursor(cursor string) (*kept.Domain, error) {
	if cursor == nothingBefore {
		return nil, nil
	}
	until, name, ok := strings.Cut(strings.TrimPrefix(cursor, "a-"), "-")
	at, err := strconv.ParseInt(until, 10, 64)
	if !ok || err != nil || !strings.HasPrefix(cursor, "a-") {
		return nil, errCursor
	}
	return &kept.Domain{Name: kept.Name(name), Alias: &kept.Alias{Until: catalog.Time(at)}}, nil
}

// aliases returns a page of domains that are aliases.
func (s domains) aliases(expired bool, cursor string, limit int) (wire.Page[wire.Domain], error) {
	page := wire.Page[wire.Domain]{Items: []wire.Domain{}}
	after, err := openAliasCursor(cursor)
	if err != nil {
		return page, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		now, err := catalog.PeopleIn(v).Now(catalog.At(s.now()))
		if err != nil {
			return err
		}
		before := catalog.Time(0)
		if expired {
			before = now
		}
		all, err := catalog.DomainsIn(v).Aliases(after, before, limit+1)
		if len(all) > limit {
			all = all[:limit]
			last := all[limit-1]
			page.Next = fmt.Sprintf("a-%d-%s", last.Alias.Until, last.Name)
		}
		for i := range all {
			page.Items = append(page.Items, domainOf(&all[i], now))
		}
		return err
	})
	return page, err
}

// show returns a domain with all that it has.
func (s domains) show(ctx context.Context, text string) (out wire.Domain, err error) {
	d, err := s.domain(ctx, text)
	if err != nil {
		return out, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		view := catalog.DomainsIn(v)
		if d, err = view.Domain(d.Name); err != nil {
			return err
		}
		now, err := catalog.PeopleIn(v).Now(catalog.At(s.now()))
		if err != nil {
			return err
		}
		out = domainOf(&d, now)
		aliases, err := view.AliasesOf(d.Name, "", aliasesShown)
		if err != nil {
			return err
		}
		out.Aliases = kindOf[string](aliases)
		if out.Missing, err = missingFields(view, &d); err != nil {
			return err
		}
		stored, err := view.Settings()
		if err != nil {
			return err
		}
		settings, err := readDomainSettings(stored)
		if err != nil {
			return err
		}
		if out.Configurations, err = configurationsOf(view, &d, settings); err != nil {
			return err
		}
		out.Seeds, out.Traps, err = listsOf(view, &d, settings)
		return err
	})
	return out, err
}

// domainOf is how the API shows a domain, without what it has.
func domainOf(d *kept.Domain, now catalog.Time) wire.Domain {
	out := wire.Domain{Name: string(d.Name), Collection: string(d.Collection), Created: std(d.Created), Index: d.Index,
		Version: d.Version, Owner: d.Owner, Comments: d.Comments, Default: d.DefaultName(), Removing: d.Removing}
	for _, v := range d.Fields {
		if out.Fields == nil {
			out.Fields = map[string]string{}
		}
		out.Fields[v.Name] = v.Value
	}
	if d.Alias != nil {
		out.Alias = &wire.Alias{Of: string(d.Alias.Of), Since: std(d.Alias.Since), Until: std(d.Alias.Until),
			Expired: d.Alias.Until <= now}
	}
	return out
}

// missingFields names the mandatory fields of which the domain has no value.
func missingFields(view kept.View, d *kept.Domain) (names []string, err error) {
	fields, err := view.Fields(kept.OfDomains)
	for _, f := range fields {
		has := slices.ContainsFunc(d.Fields, func(v kept.FieldValue) bool { return v.Name == f.Name })
		if f.Mandatory && !has {
			names = append(names, f.Name)
		}
	}
	return names, err
}

// impliedConfiguration is what a domain has of which nothing was said.
func impliedConfiguration(d *kept.Domain, settings domain.Settings) kept.Configuration {
	return kept.Configuration{Domain: d.Name, Name: kept.DefaultConfiguration, Template: settings.DefaultTemplate,
		Lists: []string{kept.DefaultSeedList}, Objects: limitOf(settings.DefaultObjects),
		Bytes: limitOf(settings.DefaultBytes), Index: d.Index}
}

// limitOf is a limit as the catalog has it.
func limitOf(limit harvest.Limit) *int64 {
	if most, given := limit.Given(); given {
		return &most
	}
	return nil
}

// limitFrom is a limit of the catalog.
func limitFrom(most *int64) harvest.Limit {
	if most == nil {
		return harvest.Limit{}
	}
	return harvest.AtMost(*most)
}

// configurationsOf lists a domain's configurations by name, with the one that is implied.
func configurationsOf(view kept.View, d *kept.Domain, settings domain.Settings) ([]wire.Configuration, error) {
	all, err := view.Configurations(d.Name, "", 0)
	if err != nil {
		return nil, err
	}
	implied := !slices.ContainsFunc(all, func(c kept.Configuration) bool { return c.Name == kept.DefaultConfiguration })
	if implied {
		all = append(all, impliedConfiguration(d, settings))
		slices.SortFunc(all, func(a, b kept.Configuration) int { return cmp.Compare(a.Name, b.Name) })
	}
	out := make([]wire.Configuration, len(all))
	for i := range all {
		out[i] = configurationOf(&all[i])
		out[i].Default = all[i].Name == d.DefaultName()
		out[i].Implied = implied && all[i].Name == kept.DefaultConfiguration
	}
	return out, nil
}

// configurationOf is how the API shows a configuration.
func configurationOf(c *kept.Configuration) wire.Configuration {
	out := wire.Configuration{Name: c.Name, Template: c.Template, Seeds: append([]string{}, c.Lists...),
		Objects: limitFrom(c.Objects), Bytes: limitFrom(c.Bytes), Comments: c.Comments, Index: c.Index,
		Version: c.Version}
	if c.Settings == "" {
		return out
	}
	shown, sealed, err := shownOverlay(c.Settings)
	if err != nil {
		out.Problem = err.Error()
	}
	out.Settings, out.Sealed = shown, sealed
	return out
}

// shownOverlay reads settings that are laid over those of a template, and redacts the secrets that they refer to.
func shownOverlay(text string) (wire.Overlay, []string, error) {
	var patch harvest.Patch
	if err := json.Unmarshal([]byte(text), &patch); err != nil {
		return nil, nil, fmt.Errorf("the settings cannot be read: %w", err)
	}
	settings := harvest.DefaultSettings()
	if err := settings.Lay(patch); err != nil {
		return nil, nil, fmt.Errorf("the settings cannot be read: %w", err)
	}
	shown, err := overlayOf(settings.Redacted(), patch)
	return wire.Overlay(shown), harvest.Job{Settings: settings}.Sealed(), err
}

// overlayOf returns what settings have of those that a patch names.
func overlayOf(settings harvest.Settings, patch harvest.Patch) (harvest.Patch, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	var all harvest.Patch
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	out := harvest.Patch{}
	for name, value := range patch {
		if now, written := all[name]; written { // what is left out is as in the patch: it says nothing
			value = now
		}
		out[name] = value
	}
	return out, nil
}

// listsOf lists a domain's seed lists by name, with the one that is implied, and its traps.
func listsOf(view kept.View, d *kept.Domain, settings domain.Settings) ([]wire.List, *wire.List, error) {
	all, err := view.Lists(d.Name, kept.Seeds)
	if err != nil {
		return nil, nil, err
	}
	out := make([]wire.List, 0, len(all)+1)
	implied := true
	for i := range all {
		out = append(out, listOf(&all[i]))
		implied = implied && all[i].Name != kept.DefaultSeedList
	}
	if implied {
		seeds := settings.Seeds(string(d.Name))
		size := int64(0)
		for _, seed := range seeds {
			size += int64(len(seed)) + 1
		}
		out = append(out, wire.List{Name: kept.DefaultSeedList, Items: len(seeds), Bytes: size,
			Changed: std(d.Created), Implied: true})
		slices.SortFunc(out, func(a, b wire.List) int { return cmp.Compare(a.Name, b.Name) })
	}
	traps, err := view.List(d.Name, kept.Traps, string(kept.Traps))
	if errors.Is(err, catalog.ErrNotFound) || err == nil && traps.Items == 0 {
		return out, nil, nil
	}
	shown := listOf(&traps)
	return out, &shown, err
}

func listOf(l *kept.List) wire.List {
	return wire.List{Name: l.Name, Version: l.Version, Items: l.Items, Bytes: l.Bytes, Comments: l.Comments,
		Changed: std(l.Changed)}
}

// fieldsWith returns the values of extended fields with some of them changed, by name.
func fieldsWith(old []kept.FieldValue, changes map[string]string) []kept.FieldValue {
	all := map[string]string{}
	for _, v := range old {
		all[v.Name] = v.Value
	}
	maps.Copy(all, changes)
	var out []kept.FieldValue
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] != "" {
			out = append(out, kept.FieldValue{Name: name, Value: all[name]})
		}
	}
	return out
}
