package catalog

import (
	"holdfast/catalog/agree"
	"holdfast/catalog/domains"
	"holdfast/catalog/harvests"
)

// deleteTemplate deletes a template that no domain's configuration uses.
func deleteTemplate(s *agree.State, b *harvests.Ref) (any, error) {
	domain, err := domains.NewView(s).TemplateUsed(b.Name)
	if err != nil {
		return nil, err
	}
	if domain != "" {
		return nil, agree.Refuse(agree.Conflict, "template %s is used by a configuration of domain %s", b.Name, domain)
	}
	return nil, harvests.Remove(s, harvests.Template, b)
}
