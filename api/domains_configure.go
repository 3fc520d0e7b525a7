package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	kept "holdfast/catalog/domains"
	defined "holdfast/catalog/harvests"
	rights "holdfast/catalog/people"
	"holdfast/harvest"
	"holdfast/harvest/domain"
)

// PartOfDomain is the input of an act on a configuration or list of a domain.
type PartOfDomain struct {
	ByDomain
	Part string `path:"part" minLength:"1" maxLength:"64" doc:"the name of the configuration or list"`
}

func (s domains) configurationRoutes(api huma.API) {
	type change struct {
		PartOfDomain
		Body wire.ConfigurationChange
	}
	handle(s.server, api, route{act: rights.KeepDomain,
		within: ofDomain(s.server, func(in *change) string { return in.Name }), method: http.MethodPatch,
		path: "/api/v1/domains/{name}/configurations/{part}", id: "domain-configure", once: true, tag: "domains",
		summary: "Make a configuration of a domain, or change it"},
		func(ctx context.Context, in *change) (wire.Domain, error) {
			err := s.again(ctx, in.Body.Version != nil, func() error {
				return s.configure(ctx, in.Name, in.Part, in.Body)
			})
			return s.after(ctx, in.Name, err)
		})
	type removal struct {
		PartOfDomain
		Body wire.ReasonRequest
	}
	handle(s.server, api, route{act: rights.KeepDomain,
		within: ofDomain(s.server, func(in *removal) string { return in.Name }), method: http.MethodPost,
		path: "/api/v1/domains/{name}/configurations/{part}/remove", id: "domain-unconfigure", once: true,
		tag:     "domains",
		summary: "Remove a configuration of a domain that is not the default"},
		func(ctx context.Context, in *removal) (wire.Domain, error) {
			return s.removePart(ctx, kept.RemoveConfiguration, in.Name, in.Part, in.Body.Reason)
		})
}

// removePart removes a configuration or seed list of a domain, and shows the domain.
func (s domains) removePart(ctx context.Context, kind catalog.Kind, name, part, reason string) (wire.Domain, error) {
	d, err := s.domain(ctx, name)
	if err == nil {
		err = s.decide(ctx, kind, kept.PartRef{Domain: d.Name, Name: part, Reason: reason}, nil)
	}
	return s.after(ctx, name, err)
}

// configure makes a configuration or changes it.
func (s domains) configure(ctx context.Context, text, name string, in wire.ConfigurationChange) error {
	if err := s.seesReach(ctx, callerOf(ctx).Rights); err != nil {
		return err
	}
	d, err := s.domain(ctx, text)
	if err != nil {
		return err
	}
	settings, err := s.domainSettings()
	if err != nil {
		return err
	}
	old := impliedConfiguration(&d, settings) // a new one begins with the same
	err = s.Catalog.View(func(v catalog.View) error {
		stored, err := catalog.DomainsIn(v).Configuration(d.Name, name)
		if errors.Is(err, catalog.ErrNotFound) {
			return nil
		}
		if err == nil {
			old = stored
			err = mayCrawlBy(v, callerOf(ctx).Rights, &old, settings)
		}
		if err == nil && in.Version != nil && *in.Version != old.Version { // only the version that was looked at
			err = problem(http.StatusConflict, wire.CodeConflict, fmt.Sprintf(
				"configuration %s of %s has version %d by now, not %d", name, d.Name, old.Version, *in.Version))
		}
		return err
	})
	if err != nil {
		return err
	}
	asked := kept.Configuring{Domain: d.Name, Name: name, Version: old.Version, Template: old.Template,
		Lists: old.Lists, Objects: old.Objects, Bytes: old.Bytes, Comments: old.Comments}
	if in.Version != nil {
		asked.Version = *in.Version
	}
	if in.Template != nil {
		if asked.Template = *in.Template; asked.Template != old.Template {
			err := s.hasTemplate(callerOf(ctx).Rights, &kept.Configuration{Template: asked.Template}, settings)
			if err != nil {
				return err
			}
		}
	}
	if in.Seeds != nil {
		asked.Lists = *in.Seeds
	}
	if in.Comments != nil {
		asked.Comments = *in.Comments
	}
	if err := changeLimits(&asked, in); err != nil {
		return err
	}
	if in.Settings != nil {
		if err := s.lay(ctx, &asked, harvest.Patch(in.Settings)); err != nil {
			return err
		}
	}
	return s.decide(ctx, kept.SetConfiguration, asked, nil)
}

// hasTemplate refuses a template that is not there: a harvest could make no job with it. It also refuses one that is
// not for somebody with these rights.
func (s domains) hasTemplate(rights []catalog.Right, c *kept.Configuration, settings domain.Settings) error {
	return s.Catalog.View(func(v catalog.View) error {
		_, err := catalog.HarvestsIn(v).Definition(defined.Template, c.Template)
		if errors.Is(err, catalog.ErrNotFound) {
			return problem(http.StatusNotFound, wire.CodeNotFound, fmt.Sprintf("no template %q", c.Template))
		}
		if err != nil {
			return err
		}
		return mayCrawlBy(v, rights, c, settings)
	})
}

// changeLimits gives a configuration other limits.
func changeLimits(asked *kept.Configuring, in wire.ConfigurationChange) error {
	for _, limit := range []struct {
		name string
		to   **int64
		most *int64
	}{{"objects", &asked.Objects, in.Objects}, {"bytes", &asked.Bytes, in.Bytes}} {
		without := slices.Contains(in.NoLimit, limit.name)
		switch {
		case limit.most != nil && without:
			return problem(http.StatusUnprocessableEntity, wire.CodeInvalid,
				"no_limit: "+limit.name+" is given a limit too")
		case limit.most != nil:
			if _, err := json.Marshal(limit.most); err != nil || *limit.most < 0 {
				return problem(http.StatusUnprocessableEntity, wire.CodeInvalid,
					fmt.Sprintf("%s: given %d, allowed: 0 or more", limit.name, *limit.most))
			}
			*limit.to = limit.most
		case without:
			*limit.to = nil
		}
	}
	return nil
}

// lay checks settings that are laid over those of a template, and parts them from their secrets. The seed is one that
// needs no contact of an operator: that is for the template to give.
func (s domains) lay(ctx context.Context, asked *kept.Configuring, patch harvest.Patch) error {
	if len(patch) == 0 {
		asked.Settings = new(string)
		return nil
	}
	settings := harvest.DefaultSettings()
	err := settings.Lay(patch)
	if err == nil {
		err = harvest.CheckLaid(patch)
	}
	if err == nil {
		var level int
		if level, err = levelOf(s.Catalog.View); err != nil {
			return err
		}
		err = patch.KnownAt(level)
	}
	if err != nil {
		return problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
	}
	job := harvest.Job{Name: asked.Name, Seeds: []string{"http://127.0.0.1/"}, Settings: settings}
	if err := errors.Join(job.Validate(), s.crawls.Check(job)); err != nil {
		return problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
	}
	if err := mayReach(callerOf(ctx).Rights, settings); err != nil {
		return err
	}
	open, secret, err := s.secrets.Seal(job)
	if err != nil {
		return err
	}
	parted, err := overlayOf(open.Settings, patch)
	if err != nil {
		return err
	}
	text, err := json.Marshal(parted)
	if err != nil {
		return err
	}
	laid := string(text)
	asked.Settings, asked.Secret = &laid, secret
	return nil
}

// limit stands for harvest.Limit in the description.
type limit struct{}

// Schema implements huma.SchemaProvider.
func (limit) Schema(huma.Registry) *huma.Schema {
	least := 0.0
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &least, Nullable: true}
}
