package people

import (
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// View answers questions about the subject; see agree.View.
type View struct{ agree.View }

// NewView returns a View of what r shows.
func NewView(r agree.Reader) View { return View{agree.View{Reader: r}} }

// All returns all people by id, disabled ones too.
func (r View) All() ([]Person, error) { return agree.List[Person](r.Reader, PrefixPeople, "", 0) }

// Person returns the person, or ErrNotFound.
func (r View) Person(id PersonID) (Person, error) {
	return agree.Found(agree.Get[Person](r.Reader, keyPerson(id)))
}

// Find returns the person of that id, e-mail address or name, or ErrNotFound.
func (r View) Find(text string) (Person, error) {
	if p, there, err := agree.Get[Person](r.Reader, keyPerson(PersonID(text))); err != nil || there {
		return p, err
	}
	key := keyCalled(text)
	if strings.Contains(text, "@") {
		key = keyMail(text)
	}
	id, there, err := agree.Get[PersonID](r.Reader, key)
	if err != nil || !there {
		return Person{}, orMissing(err)
	}
	return r.Person(id)
}

// orMissing returns err, or ErrNotFound if err is nil.
func orMissing(err error) error {
	if err != nil {
		return err
	}
	return agree.ErrNotFound
}

// Grants returns all grants by person, ended ones too.
func (r View) Grants() ([]Grant, error) { return agree.List[Grant](r.Reader, PrefixGrants, "", 0) }

// GrantsOf returns a person's grants by number, ended ones too.
func (r View) GrantsOf(id PersonID) ([]Grant, error) { return r.grants(id) }

// Bearer returns to whom the access token belongs; false when it has no owner.
func (r View) Bearer(token string) (Bearer, bool, error) {
	return agree.Get[Bearer](r.Reader, keyBearer(token))
}

// Behind returns the person who an actor is, or who answers for the program; none of nodes, of who has their local
// tokens, and of programs without an owner.
func (r View) Behind(actor string) (PersonID, error) {
	switch kind, id := ParseActor(actor); kind {
	case PersonActor:
		return PersonID(id), nil
	case ProgramActor:
		b, _, err := r.Bearer(id)
		return b.Owner, err
	}
	return "", nil
}

// InvitedAgain returns when a person was last invited again by somebody, or, when she was active, by who is no person;
// 0: never.
// Whoever did so was shown a text that gives a token of hers.
func (r View) InvitedAgain(id, by PersonID) (agree.Time, error) {
	at, _, err := agree.Get[agree.Time](r.Reader, keyAgain(id, by))
	return at, err
}

// Ownerless counts the access tokens that are good and belong to nobody.
func (r View) Ownerless(now agree.Time) (int, error) {
	tokens, err := agree.List[AccessToken](r.Reader, PrefixAccess, "", 0)
	n := 0
	for i := range tokens {
		there, err := agree.Has(r.Reader, keyBearer(tokens[i].ID))
		if err != nil {
			return 0, err
		}
		if !there && tokens[i].usable(now) {
			n++
		}
	}
	return n, err
}

// Used returns the last day on which the access token was used, as far as it was noted; 0: never.
func (r View) Used(token string) (agree.Time, error) {
	at, _, err := agree.Get[agree.Time](r.Reader, keyUse(token))
	return at, err
}

// ActorName returns how an actor is shown to people: by the name that the person, program or node has now.
func (r View) ActorName(actor string) (string, error) {
	kind, id := ParseActor(actor)
	switch kind {
	case PersonActor:
		p, there, err := agree.Get[Person](r.Reader, keyPerson(PersonID(id)))
		if err != nil || there {
			return p.Name, err
		}
	case ProgramActor:
		t, there, err := agree.Get[AccessToken](r.Reader, keyAccess(id))
		if err != nil || there {
			return "program " + t.Name, err
		}
	case LocalActor:
		m, there, err := cluster.In(r.Reader).Member(agree.NodeID(id))
		if err != nil || there {
			return "local:" + m.Name, err
		}
	default:
		m, there, err := cluster.In(r.Reader).Member(agree.NodeID(actor))
		if err != nil || there {
			return m.Name, err
		}
	}
	return actor, nil
}

// AccessTokens returns all access tokens by id.
func (r View) AccessTokens() ([]AccessToken, error) {
	return agree.List[AccessToken](r.Reader, PrefixAccess, "", 0)
}

// AccessToken returns the access token, revoked and expired ones too, or ErrNotFound.
func (r View) AccessToken(id string) (AccessToken, error) {
	return agree.Found(agree.Get[AccessToken](r.Reader, keyAccess(id)))
}
