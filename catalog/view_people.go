package catalog

import (
	"strings"

	"holdfast/catalog/agree"
)

// People reads what the catalog has about people.
type People struct{ records }

// PeopleIn returns what the view has about people.
func PeopleIn(v View) People { return People{v.rec} }

// people is the state as a command about people sees it.
type people struct {
	*state
	People
}

func peopleOf(s *state) people { return people{s, People{s.records}} }

// ofPeople is with for commands about people.
func ofPeople[B any](do func(people, *B) (any, error)) agree.Handler {
	return with(func(s *state, b *B) (any, error) { return do(peopleOf(s), b) })
}

// All returns all people by id, disabled ones too.
func (r People) All() ([]Person, error) { return agree.List[Person](r, PrefixPeople, "", 0) }

// Person returns the person, or ErrNotFound.
func (r People) Person(id PersonID) (Person, error) {
	return agree.Found(agree.Get[Person](r, keyPerson(id)))
}

// Find returns the person of that id, e-mail address or name, or ErrNotFound.
func (r People) Find(text string) (Person, error) {
	if p, there, err := agree.Get[Person](r, keyPerson(PersonID(text))); err != nil || there {
		return p, err
	}
	key := keyCalled(text)
	if strings.Contains(text, "@") {
		key = keyMail(text)
	}
	id, there, err := agree.Get[PersonID](r, key)
	if err != nil || !there {
		return Person{}, orMissing(err)
	}
	return r.Person(id)
}

// orMissing returns the error, or ErrNotFound when there is none.
func orMissing(err error) error {
	if err != nil {
		return err
	}
	return ErrNotFound
}

// Grants returns all grants by person, ended ones too.
func (r People) Grants() ([]Grant, error) { return agree.List[Grant](r, PrefixGrants, "", 0) }

// GrantsOf returns a person's grants by number, ended ones too.
func (r People) GrantsOf(id PersonID) ([]Grant, error) { return r.grants(id) }

// Bearer returns to whom the access token belongs; false when it has no owner.
func (r People) Bearer(token string) (Bearer, bool, error) {
	return agree.Get[Bearer](r, keyBearer(token))
}

// Ownerless counts the access tokens that are good and belong to nobody.
func (r People) Ownerless(now Time) (int, error) {
	tokens, err := agree.List[AccessToken](r, PrefixAccess, "", 0)
	n := 0
	for i := range tokens {
		there, err := agree.Has(r, keyBearer(tokens[i].ID))
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
func (r People) Used(token string) (Time, error) {
	at, _, err := agree.Get[Time](r, keyUse(token))
	return at, err
}

// ActorName returns how an actor is shown to people: by the name that the person, program or node has now.
func (r People) ActorName(actor string) (string, error) {
	kind, id := ParseActor(actor)
	switch kind {
	case PersonActor:
		p, there, err := agree.Get[Person](r, keyPerson(PersonID(id)))
		if err != nil || there {
			return p.Name, err
		}
	case ProgramActor:
		t, there, err := agree.Get[AccessToken](r, keyAccess(id))
		if err != nil || there {
			return "program " + t.Name, err
		}
	case LocalActor:
		m, there, err := r.Member(NodeID(id))
		if err != nil || there {
			return "local:" + m.Name, err
		}
	default:
		m, there, err := r.Member(NodeID(actor))
		if err != nil || there {
			return m.Name, err
		}
	}
	return actor, nil
}
