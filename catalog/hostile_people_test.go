package catalog_test

import (
	"holdfast/catalog"
	"holdfast/catalog/people"
)

// identities draws a command about identities and what their groups give.
func (h hostile) identities(who catalog.PersonID, token catalog.AccessToken) (catalog.Kind, any) {
	issuer, subject := pick(h, "issuer", "https://idp.example", h.text()), pick(h, "subject", "s1", "s2", h.text())
	grants := []people.GroupGrant{{Role: token.Role}, {Role: catalog.RoleCurator, Collection: catalog.CollectionName(h.text())}}
	switch pick(h, "identity", 0, 1, 2, 3, 4) {
	case 0:
		return people.EnterIdentified, people.Identification{Invitation: token.ID, Issuer: issuer, Subject: subject}
	case 1:
		return people.AdmitPerson, people.Admission{Person: catalog.Person{ID: who, Name: string(who), Mail: string(who) + "@y.org"},
			Issuer: issuer, Subject: subject, Grants: grants, Until: h.time()}
	case 2:
		return people.UnlinkIdentity, people.Unlinking{Person: who, Identity: people.IdentityID(issuer, subject), Reason: h.text()}
	case 3:
		return people.EndIdentified, people.IdentityEnd{Identity: pick(h, "whose", "", people.IdentityID(issuer, subject), h.text()),
			Session: pick(h, "session", "", people.ServiceSession(issuer, subject), h.text()),
			Message: pick(h, "message", people.ServiceMessage(issuer, h.text()), h.text()), Until: h.time()}
	}
	return people.Regroup, people.Grouping{Person: who, Identity: people.IdentityID(issuer, subject), Grants: grants, Until: h.time()}
}
