package people

import "holdfast/catalog/agree"

// The keys of the values about people.
const (
	PrefixAccess   = "access/"    // <id>: AccessToken
	keyGrants      = "grantcount" // number of the last grant
	PrefixPeople   = "person/"    // <person>: Person
	prefixMails    = "mail/"      // <e-mail, lower case>: PersonID
	prefixCalled   = "called/"    // <name, folded>: PersonID
	PrefixGrants   = "grant/"     // <person>/<id>: Grant
	PrefixBearers  = "bearer/"    // <access token>: Bearer
	prefixUses     = "used/"      // <access token>: Time, the last day
	prefixPassword = "password/"  // <person>: Password
	prefixEnded    = "ended/"     // <actor>: Ended

	prefixSignedOut = "signedout/" // <the first three digits of an id>: list of EndedSession (level 5)

	prefixAgain = "again/" // <person>/<who invited her again, - if that is no person>: Time (level 5)

	prefixIdentity   = "identity/"   // <person>/<identity>: Identity
	prefixIdentified = "identified/" // <identity>: PersonID
)

func keyPerson(id PersonID) string { return PrefixPeople + string(id) }

// KeyOfPerson is where a person stands, for the version of what somebody has seen.
func KeyOfPerson(id PersonID) string { return keyPerson(id) }

func keyMail(mail string) string { return prefixMails + lower(mail) }

func keyCalled(name string) string { return prefixCalled + folded(name) }

func prefixGrants(id PersonID) string { return PrefixGrants + string(id) + "/" }

func keyGrant(id PersonID, n uint64) string { return prefixGrants(id) + agree.Hex(n) }

func keyBearer(token string) string { return PrefixBearers + token }

func keyAgain(id, by PersonID) string {
	if by == "" {
		by = "-"
	}
	return prefixAgain + string(id) + "/" + string(by)
}

func keyUse(token string) string { return prefixUses + token }

func keyPassword(id PersonID) string { return prefixPassword + string(id) }

func keyEnded(owner string) string { return prefixEnded + owner }

// keySignedOut is of an id that checkServiceID takes.
func keySignedOut(id string) string { return prefixSignedOut + id[:3] }

func prefixIdentities(id PersonID) string { return prefixIdentity + string(id) + "/" }

func keyIdentity(id PersonID, identity string) string { return prefixIdentities(id) + identity }

func keyIdentified(identity string) string { return prefixIdentified + identity }

func keyAccess(id string) string { return PrefixAccess + id }
