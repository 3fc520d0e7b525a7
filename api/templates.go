package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"holdfast/api/wire"
	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
	"holdfast/harvest"
)

func (s definitions) templateRoutes(api huma.API, all shelf[wire.Template]) {
	type create struct{ Body wire.TemplateRequest }
	r := all.route(catalog.Define, http.MethodPost, "", "create", "Create a template")
	r.status, r.once = http.StatusCreated, true
	handle(s.server, api, r, func(ctx context.Context, in *create) (wire.Template, error) {
		settings, err := s.givenTemplate(in.Body)
		if err != nil {
			return wire.Template{}, err
		}
		text, secret, err := s.templateText(ctx, settings)
		if err != nil {
			return wire.Template{}, err
		}
		if err := s.mayBegin(ctx, in.Body.Name, settings); err != nil {
			return wire.Template{}, err
		}
		return all.made(ctx, "create", in.Body.Name, defined.Creation{Name: in.Body.Name, Text: text,
			Off: in.Body.Inactive, Comment: in.Body.Comment, Secret: secret})
	})
	type change struct {
		ByName
		Body wire.TemplateChange
	}
	handle(s.server, api, all.route(catalog.Define, http.MethodPatch, "/{name}", "set",
		"Change a template; settings become its next version, and those before stay as they are"),
		func(ctx context.Context, in *change) (wire.Template, error) {
			asked := defined.Change{Name: in.Name, After: in.Body.After, Comment: in.Body.Comment}
			if in.Body.Active != nil {
				asked.Off = new(!*in.Body.Active)
			}
			if !given(in.Body.Settings) {
				return all.made(ctx, "set", in.Name, asked)
			}
			text, secret, err := s.templateText(ctx, in.Body.Settings)
			if err != nil {
				return wire.Template{}, err
			}
			asked.Text, asked.Secret = &text, secret
			var out wire.Template
			err = s.again(ctx, in.Body.After != 0, func() (err error) {
				if asked.After, err = s.mayBecome(ctx, in.Name, in.Body.After, in.Body.Settings); err == nil {
					out, err = all.made(ctx, "set", in.Name, asked)
				}
				return err
			})
			return out, err
		})
}

// givenTemplate returns the settings of a template that is asked for: those that are given, or, for the template that
// new configurations have, those of a contact alone.
func (s definitions) givenTemplate(in wire.TemplateRequest) (json.RawMessage, error) {
	switch {
	case given(in.Settings) && in.Contact != "":
		return nil, refused("contact: not together with settings, whose operator_contact it is")
	case given(in.Settings):
		return in.Settings, nil
	case in.Contact == "":
		return nil, refused("settings: none are given, and no contact")
	}
	stored, err := s.domainSettings()
	if err != nil {
		return nil, err
	}
	if in.Name != stored.DefaultTemplate {
		return nil, refused("contact: a template is made of a contact alone if new configurations have it, and these "+
			"have %s (default_template of the settings of domains): give settings", stored.DefaultTemplate)
	}
	text, err := harvest.DefaultTemplate(in.Contact)
	return json.RawMessage(text), err
}

// given reports whether a part of a request is there, and not null.
func given(part json.RawMessage) bool { return len(part) > 0 && string(part) != "null" }

// templateText checks a template and returns what the catalog keeps: the settings that it gives, and its secrets,
// sealed.
func (s definitions) templateText(ctx context.Context, raw json.RawMessage) (string, *catalog.Secret, error) {
	settings, err := s.readTemplate(ctx, raw)
	if err == nil {
		var level int
		if level, err = levelOf(s.Catalog.View); err == nil {
			err = invalidAs422(harvest.TemplateAt(raw, settings, level))
		}
	}
	if err == nil {
		spec := harvest.Job{Name: "template", Seeds: []string{"http://www.example.org/"}, Settings: settings}
		if err = harvest.CheckTemplate(settings); err == nil {
			err = errors.Join(spec.Validate(), s.crawls.Check(spec))
		}
		err = invalidAs422(err)
	}
	if err != nil {
		return "", nil, err
	}
	open, secret, err := s.secrets.Seal(harvest.Job{Name: "template", Settings: settings})
	if err != nil {
		return "", nil, err
	}
	text, err := harvest.TemplateText(raw, open.Settings)
	if err != nil {
		return "", nil, invalidAs422(err)
	}
	return text, secret, checkTextSize("settings", text)
}

// readTemplate reads a template, and refuses one that the caller may not have jobs of.
func (s definitions) readTemplate(ctx context.Context, raw []byte) (harvest.Settings, error) {
	settings, err := harvest.ParseTemplate(raw)
	if err != nil {
		return settings, invalidAs422(err)
	}
	return settings, mayReachBy(callerOf(ctx).Rights, "template", settings)
}

// invalidAs422 makes a problem of the request of an error about settings.
func invalidAs422(err error) error {
	if err == nil {
		return nil
	}
	return problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
}

func (s definitions) templateOf(v catalog.View, n *named) (wire.Template, error) {
	out := wire.Template{Active: !n.Off}
	var err error
	if out.Defined, err = definedOf(v, n); err != nil || n.text == nil {
		return out, err
	}
	text, err := harvest.ShownTemplate(*n.text)
	out.Settings = json.RawMessage(text)
	return out, err
}
