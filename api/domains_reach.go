package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	defined "holdfast/catalog/harvests"
	"holdfast/harvest"
	"holdfast/harvest/domain"
)

// mayCrawlBy refuses to somebody with these rights what decides what is crawled by a configuration with which a crawl
// could reach the nodes' own network: the jobs of harvests are made later, by nobody. The default template is for
// everybody.
func mayCrawlBy(v catalog.View, rights []catalog.Right, c *kept.Configuration, of domain.Settings) error {
	if c.Settings != "" {
		var patch harvest.Patch
		laid := harvest.DefaultSettings()
		err := json.Unmarshal([]byte(c.Settings), &patch)
		if err == nil {
			err = laid.Lay(patch)
		}
		if err != nil {
			return fmt.Errorf("settings of configuration %s of %s: %w", c.Name, c.Domain, err)
		}
		if err := mayReachBy(rights, "configuration", laid); err != nil {
			return err
		}
	}
	if c.Template == of.DefaultTemplate {
		return nil
	}
	return mayUseTemplate(v, rights, c.Template)
}

// mayUseTemplate refuses a template with which a crawl could reach the nodes' own network to somebody who could not
// make it.
func mayUseTemplate(v catalog.View, rights []catalog.Right, name string) error {
	templates := catalog.HarvestsIn(v)
	d, err := templates.Definition(defined.Template, name)
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	_, text, err := templates.Text(defined.Template, name, d.Version)
	if err != nil {
		return fmt.Errorf("template %s: %w", name, err)
	}
	settings, err := harvest.ParseTemplate([]byte(text))
	if err != nil {
		return fmt.Errorf("template %s: %w", name, err)
	}
	return mayReachBy(rights, "template", settings)
}

// mayFeed refuses a seed list of a configuration with which a crawl could reach the nodes' own network.
func (s domains) mayFeed(rights []catalog.Right, of kept.Name, list string) error {
	settings, err := s.domainSettings()
	if err != nil {
		return err
	}
	return s.Catalog.View(func(v catalog.View) error {
		all, err := catalog.DomainsIn(v).Configurations(of, "", 0)
		for i := range all {
			if err == nil && slices.Contains(all[i].Lists, list) {
				err = mayCrawlBy(v, rights, &all[i], settings)
			}
		}
		return err
	})
}
