package api

import (
	"context"
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
	d, err := catalog.HarvestsIn(v).Definition(defined.Template, name)
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	settings, err := templateNow(v, &d)
	if err != nil {
		return err
	}
	return mayReachBy(rights, "template", settings)
}

// mayFeed refuses a seed list of a configuration with which a crawl could reach the nodes' own network.
func mayFeed(v catalog.View, rights []catalog.Right, of kept.Name, list string, settings domain.Settings) error {
	all, err := catalog.DomainsIn(v).Configurations(of, "", 0)
	for i := range all {
		if err == nil && slices.Contains(all[i].Lists, list) {
			err = mayCrawlBy(v, rights, &all[i], settings)
		}
	}
	return err
}

// seesReach waits, for somebody with these rights who may not let crawls reach the nodes' own network, until this node
// knows what was decided so far.
func (s *server) seesReach(ctx context.Context, rights []catalog.Right) error {
	if catalog.May(rights, catalog.ReachInside, catalog.Where{}) == nil {
		return nil
	}
	return s.Catalog.Linear(ctx)
}
