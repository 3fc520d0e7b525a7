package people

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast/catalog/agree"
)

// kept are stored values by their keys.
type kept map[string]any

func (k kept) Get(key []byte) ([]byte, error) {
	v, there := k[string(key)]
	if !there {
		return nil, nil
	}
	text, err := json.Marshal(v)
	return append([]byte{1}, text...), err
}

func (k kept) Scan(prefix, from []byte, see func(key, value []byte) bool) error {
	var keys []string
	for key := range k {
		if strings.HasPrefix(key, string(prefix)) && key >= string(from) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		value, err := k.Get([]byte(key))
		if err != nil || !see([]byte(key), value) {
			return err
		}
	}
	return nil
}

// Only who is active acts, and only as far as the token says: a word that this program does not know allows nothing.
func TestWhatATokenIsWorth(t *testing.T) {
	token := AccessToken{ID: "t", Name: "t", Role: RoleCurator}
	for name, tt := range map[string]struct {
		state PersonState
		role  Role
		grant Grant
		worth bool
	}{
		"of an active person":        {Active, RoleCurator, Grant{Role: RoleAdmin}, true},
		"of one who is invited":      {Invited, RoleCurator, Grant{Role: RoleAdmin}, false},
		"of one who is disabled":     {Disabled, RoleCurator, Grant{Role: RoleAdmin}, false},
		"of an unknown state":        {"retired", RoleCurator, Grant{Role: RoleAdmin}, false},
		"of no state":                {"", RoleCurator, Grant{Role: RoleAdmin}, false},
		"of an unknown role":         {Active, "auditor", Grant{Role: RoleAdmin}, false},
		"of no role":                 {Active, "", Grant{Role: RoleAdmin}, false},
		"by a grant of unknown role": {Active, RoleCurator, Grant{Role: "auditor"}, false},
		"by a grant that expires":    {Active, RoleCurator, Grant{Role: RoleAdmin, Until: 101}, true},
		"by a grant that expired":    {Active, RoleCurator, Grant{Role: RoleAdmin, Until: 100}, false},
		"by a grant that was ended":  {Active, RoleCurator, Grant{Role: RoleAdmin, Ended: 1}, false},
		"by one of another place":    {Active, RoleCurator, Grant{Role: RoleOperator, Scope: Scope{Place: "south"}}, false},
	} {
		for _, program := range []bool{false, true} {
			token.Role, tt.grant.Person, tt.grant.ID = tt.role, "anna", 1
			view := NewView(kept{
				agree.PrefixCluster:  agree.Cluster{ID: "c", Level: LevelOfPeople},
				keyPerson("anna"):    Person{ID: "anna", Name: "Anna", State: tt.state},
				keyGrant("anna", 1):  tt.grant,
				keyBearer(token.ID):  Bearer{Token: token.ID, Owner: "anna", Program: program},
				keyAccess(token.ID):  token,
				keyBearer("another"): Bearer{Token: "another", Owner: "berta"},
			})
			who, err := view.Caller(token, 100)
			if err != nil && !errors.Is(err, ErrDisabled) {
				t.Fatalf("%s: %v", name, err)
			}
			if got := May(who.Rights, RunJob, Where{}) == nil; got != tt.worth {
				t.Errorf("a token %s, program %t: may run jobs: %t; %+v", name, program, got, who)
			}
			actor := PersonID("anna").Actor()
			if program {
				actor = Program(token.ID)
			}
			rights, _, err := view.Named("north", actor, "", 100)
			if got := err == nil && May(rights, RunJob, Where{}) == nil; got != tt.worth && (program || tt.role == RoleCurator) {
				t.Errorf("a member names the holder of a token %s, program %t: %t, %v", name, program, got, err)
			}
		}
	}
}

// Expired is what has expired by this machine's clock or by the cluster's.
func TestTheLaterClockCounts(t *testing.T) {
	view := NewView(kept{"clock": agree.Time(100)})
	for machine, want := range map[agree.Time]agree.Time{50: 100, 100: 100, 150: 150} {
		if now, err := view.Now(machine); err != nil || now != want {
			t.Errorf("this machine's clock at %d: %d %v, want %d", machine, now, err, want)
		}
	}
}

// A token makes none that is good for longer.
func TestATokenMakesNoLongerToken(t *testing.T) {
	for name, tt := range map[string]struct {
		with, made agree.Time
		good       bool
	}{
		"neither ends":           {0, 0, true},
		"the new one ends":       {0, 5, true},
		"the new one does not":   {5, 0, false},
		"the new one ends later": {5, 6, false},
		"both end together":      {5, 5, true},
		"the new one ends first": {5, 4, true},
	} {
		who := Caller{Role: RoleAdmin, Rights: Everything(), Expires: tt.with}
		err := who.MayMake(RoleReader, true, nil, nil, tt.made)
		if (err == nil) != tt.good || err != nil && !strings.Contains(err.Error(), "lifetime") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
