package catalog_test

import (
	"fmt"
	"testing"

	"holdfast/catalog"
	"holdfast/catalog/people"
)

// end is what a service says: whose sessions have ended, or which, by the message of that number.
func (c *town) end(subject, session string, message int) people.IdentityEnd {
	e := people.IdentityEnd{Message: people.ServiceMessage(idp, fmt.Sprint(message)), Until: c.now + 600_000}
	if subject != "" {
		e.Identity = people.IdentityID(idp, subject)
	}
	if session != "" {
		e.Session = people.ServiceSession(idp, session)
	}
	return e
}

func (c *town) signedOut(id string) bool {
	c.t.Helper()
	is, err := c.people().SignedOut(id)
	if err != nil {
		c.t.Fatal(err)
	}
	return is
}

func (c *town) unnamed(owner string) uint64 {
	c.t.Helper()
	n, err := c.people().UnnamedEnded(owner)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// A service ends one of its sessions, or all of a person's, and nobody else's; only a node says so for it.
func TestAServiceEndsSessions(t *testing.T) {
	c := linked(t)
	anna, berta := "person:anna", "person:berta"
	for _, actor := range []string{anna, berta, "test"} {
		c.refused(catalog.Denied, actor, people.EndIdentified, c.end("a", "", 1))
	}
	before, others := c.standing(anna), c.standing(berta)
	c.does(local, people.EndIdentified, c.end("a", "s1", 1))
	if !c.signedOut(people.ServiceSession(idp, "s1")) || c.signedOut(people.ServiceSession(idp, "s2")) ||
		c.signedOut(people.ServiceSession(idp2, "s1")) {
		t.Error("another session than the one that the service named has ended")
	}
	if c.standing(anna) != before || c.unnamed(anna) != 1 || c.unnamed(berta) != 0 {
		t.Error("the end of one session at the service ends others of hers, or leaves those that it may be")
	}
	c.does(local, people.EndIdentified, c.end("", "s2", 2))
	if !c.signedOut(people.ServiceSession(idp, "s2")) || c.unnamed(anna) != 1 {
		t.Error("a session without a subject has not ended, or has ended others")
	}
	c.does(local, people.EndIdentified, c.end("a", "", 3))
	if c.standing(anna) == before || c.standing(berta) != others {
		t.Error("all of anna's sessions were to end, and nobody else's")
	}
	c.does(local, people.EndIdentified, c.end("nobody", "", 4)) // nothing is there to end
}

// A message counts once, for as long as the service's word is good, whichever node it is sent to again.
func TestAMessageOfAServiceCountsOnce(t *testing.T) {
	c := linked(t)
	once := c.end("a", "", 1)
	c.does(local, people.EndIdentified, once)
	standing := c.standing("person:anna")
	c.refused(catalog.Conflict, local, people.EndIdentified, once)
	again := c.end("a", "s1", 1)
	c.refused(catalog.Conflict, local, people.EndIdentified, again)
	if c.standing("person:anna") != standing || c.signedOut(again.Session) {
		t.Error("a repeated message ends sessions")
	}
	c.now += 600_000
	c.refused(catalog.Conflict, local, people.EndIdentified, once)
}

// Messages that make no sense are refused.
func TestSenselessMessagesOfAService(t *testing.T) {
	c := linked(t)
	for name, spoil := range map[string]func(*people.IdentityEnd){
		"nothing":            func(e *people.IdentityEnd) { e.Identity = "" },
		"no message":         func(e *people.IdentityEnd) { e.Message = "" },
		"a short message":    func(e *people.IdentityEnd) { e.Message = "ab" },
		"a strange message":  func(e *people.IdentityEnd) { e.Message = "../../../../../../../../../../xx" },
		"a strange session":  func(e *people.IdentityEnd) { e.Session = "x" },
		"a strange identity": func(e *people.IdentityEnd) { e.Identity = "x" },
		"no end":             func(e *people.IdentityEnd) { e.Until = 0 },
	} {
		e := c.end("a", "", 1)
		spoil(&e)
		t.Log(name)
		c.refused(catalog.Invalid, local, people.EndIdentified, e)
	}
}

// What is kept of ended sessions is bounded: where there are too many at once, the next one is refused, not forgotten,
// and a week later there is room again.
func TestManySessionsOfAService(t *testing.T) {
	c := linked(t)
	first := ""
	var kept []string
	n := 0
	for len(kept) < 100 { // those whose ids begin alike
		n++
		id := people.ServiceSession(idp, fmt.Sprint("s", n))
		if first == "" {
			first = id[:3]
		}
		if id[:3] == first {
			kept = append(kept, id)
		}
	}
	end := func(id string, n int) people.IdentityEnd {
		return people.IdentityEnd{Session: id, Message: people.ServiceMessage(idp, fmt.Sprint("m", n)), Until: c.now + 1000}
	}
	used := 0
	for i, id := range kept {
		e := end(id, i)
		if e.Message[:3] == first {
			used++ // a message of its own takes a place
		}
		if i+1+used > 100 {
			c.refused(catalog.Unsafe, local, people.EndIdentified, e)
			continue
		}
		c.does(local, people.EndIdentified, e)
	}
	last := people.ServiceSession(idp, fmt.Sprint("s", n))
	for last[:3] != first || last == kept[len(kept)-1] {
		n++
		last = people.ServiceSession(idp, fmt.Sprint("s", n))
	}
	c.refused(catalog.Unsafe, local, people.EndIdentified, end(last, 1000))
	if !c.signedOut(kept[0]) || c.signedOut(last) {
		t.Error("a session is forgotten, or one that was refused is kept")
	}
	c.now += people.SessionMost + 2*catalog.Day
	c.does(local, people.EndIdentified, end(last, 1001))
	if c.signedOut(kept[0]) || !c.signedOut(last) {
		t.Error("after a week there is no room")
	}
}
