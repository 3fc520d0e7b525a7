package notices

import (
	"holdfast/catalog/agree"
)

// View answers questions about the subject; see agree.View.
type View struct{ agree.View }

// NewView returns a View of what r shows.
func NewView(r agree.Reader) View { return View{agree.View{Reader: r}} }

// Faults returns the faults that are kept, by their keys.
func (v View) Faults() ([]Fault, error) { return agree.List[Fault](v.Reader, PrefixFaults, "", 0) }

// Fault returns the fault, or ErrNotFound.
func (v View) Fault(of Of) (Fault, error) {
	return agree.Found(agree.Get[Fault](v.Reader, keyFault(of.Key())))
}

// Round returns the round that a fault has that begins now, or the one that it has while it lasts.
func (v View) Round(of Of) (uint64, error) {
	f, there, err := agree.Get[Fault](v.Reader, keyFault(of.Key()))
	if err != nil || there && f.Open() {
		return f.Round, err
	}
	if !there {
		f.Round, _, err = agree.Get[uint64](v.Reader, keyRounds)
	}
	return f.Round + 1, err
}

// Acknowledged returns who has acknowledged the fault, if that counts at the time now; else false.
func (v View) Acknowledged(of Of, now agree.Time) (Acknowledgement, bool, error) {
	a, there, err := agree.Get[Acknowledgement](v.Reader, keyAcknowledged(of.Key()))
	return a, there && now < a.Until, err
}

// Addresses returns all addresses by name.
func (v View) Addresses() ([]Address, error) {
	return agree.List[Address](v.Reader, PrefixAddresses, "", 0)
}

// Address returns the address, or ErrNotFound.
func (v View) Address(name string) (Address, error) {
	return agree.Found(agree.Get[Address](v.Reader, keyAddress(name)))
}

// State returns how an address stands.
func (v View) State(a *Address) (State, error) {
	s, _, err := agree.Get[State](v.Reader, keyState(a.Number))
	return s, err
}

// Notices returns what is on its way to an address, by id, and the outcome of its last test.
func (v View) Notices(a *Address) ([]Notice, error) {
	return agree.List[Notice](v.Reader, prefixNotices(a.Name), "", 0)
}

// Notice returns a notice to the address, or ErrNotFound.
func (v View) Notice(address, id string) (Notice, error) {
	return agree.Found(agree.Get[Notice](v.Reader, keyNotice(address, id)))
}

// Told returns what the addresses were told of a fault, by their numbers.
func (v View) Told(of Of) (map[uint64]Told, error) {
	told, _, err := agree.Get[map[uint64]Told](v.Reader, keyTold(of.Key()))
	return told, err
}
