package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"holdfast/api/wire"
	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
	"holdfast/harvest"
)

// A template that does not let crawls reach the nodes' own network never comes to, other than the default one: those
// who chose what is crawled with it did not have to be allowed that, and nothing says who they were. So whoever finds
// that a template does not may rely on it (doc/decisions/0017).

// mayBegin refuses the settings of a new template with which crawls could reach the nodes' own network if
// configurations name it already. The default template is for everybody.
func (s definitions) mayBegin(ctx context.Context, name string, raw []byte) error {
	settings, err := harvest.ParseTemplate(raw)
	if err != nil {
		return invalidAs422(err)
	}
	setting := reaches(settings)
	if setting == "" {
		return nil
	}
	forAll, err := s.isDefault(ctx, name)
	if err != nil || forAll {
		return err
	}
	return s.Catalog.View(func(v catalog.View) error {
		user, err := catalog.DomainsIn(v).TemplateUsed(name)
		if err != nil || user == "" {
			return err
		}
		return opens(setting, fmt.Sprintf("a configuration of domain %s names template %s already", user, name))
	})
}

// mayBecome refuses the settings that a template is to have after a version, 0 being the latest. Who could not have
// made the template does not change it, and it never comes to let crawls reach the nodes' own network. The default
// template is for everybody. It returns the version that it has looked at.
func (s definitions) mayBecome(ctx context.Context, name string, after int, raw []byte) (int, error) {
	settings, err := harvest.ParseTemplate(raw)
	if err != nil {
		return after, invalidAs422(err)
	}
	forAll, err := s.isDefault(ctx, name)
	if err != nil || forAll {
		return after, err
	}
	err = s.Catalog.View(func(v catalog.View) error {
		d, err := catalog.HarvestsIn(v).Definition(defined.Template, name)
		if err != nil {
			return err
		}
		if after != 0 && after != d.Version { // only the version that was looked at
			return problem(http.StatusConflict, wire.CodeConflict, fmt.Sprintf(
				"template %s has version %d by now, not %d", name, d.Version, after))
		}
		after = d.Version
		now, err := templateNow(v, &d)
		if err != nil {
			return err
		}
		if err := mayReachBy(callerOf(ctx).Rights, "template", now); err != nil {
			return err
		}
		if setting := reaches(settings); setting != "" && reaches(now) == "" {
			return opens(setting, fmt.Sprintf("version %d of template %s does not let them", d.Version, name))
		}
		return nil
	})
	if errors.Is(err, catalog.ErrNotFound) {
		err = problem(http.StatusNotFound, wire.CodeNotFound, fmt.Sprintf("no template %q", name))
	}
	return after, err
}

// isDefault reports whether new configurations have the template.
func (s definitions) isDefault(ctx context.Context, name string) (bool, error) {
	if err := s.Catalog.Linear(ctx); err != nil {
		return false, err
	}
	of, err := s.domainSettings()
	return name == of.DefaultTemplate, err
}

// templateNow returns the settings that a template gives.
func templateNow(v catalog.View, d *catalog.Definition) (settings harvest.Settings, err error) {
	_, text, err := catalog.HarvestsIn(v).Text(defined.Template, d.Name, d.Version)
	if err == nil {
		settings, err = harvest.ParseTemplate([]byte(text))
	}
	if err != nil {
		err = fmt.Errorf("template %s: %w", d.Name, err)
	}
	return settings, err
}

// opens is the problem with a template that would let crawls reach the nodes' own network by a setting.
func opens(setting, why string) error {
	return problem(http.StatusConflict, wire.CodeConflict, fmt.Sprintf("settings: with %s, crawls could reach "+
		"services on the nodes' own network, and %s: those who chose its seeds did not have to be operators. Make a "+
		"template of another name, and give it to the configurations that need it", setting, why))
}
