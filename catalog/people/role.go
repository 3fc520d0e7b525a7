package people

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/catalog/agree"
	"holdfast/catalog/cluster"
)

// Role is what a person or program may do; each role includes the ones before it.
type Role string

// The roles.
const (
	RoleReader   Role = "reader"
	RoleCurator  Role = "curator"
	RoleOperator Role = "operator"
	RoleAdmin    Role = "admin"
)

// rank orders the roles; each may do what those before it may. An unknown role ranks below all.
func (r Role) rank() int {
	return slices.Index([]Role{RoleReader, RoleCurator, RoleOperator, RoleAdmin}, r)
}

// Includes reports whether the role may do everything that the needed role may do.
func (r Role) Includes(needed Role) bool { return r.rank() >= needed.rank() && needed.rank() >= 0 }

// Right is a role and where it counts: in one collection, at one place, or, when neither is given, everywhere.
type Right struct {
	Role       Role
	Collection cluster.CollectionName
	Place      string
}

func (r Right) whole() bool { return r.Collection == "" && r.Place == "" }

// covers reports whether the right counts in all of the scope.
func (r Right) covers(s Scope) bool {
	return r.whole() || !s.Whole() && r.Collection == s.Collection && r.Place == s.Place
}

// Everything is what an administrator may.
func Everything() []Right { return []Right{{Role: RoleAdmin}} }

// Holds reports whether the rights have the role in the whole archive.
func Holds(rights []Right, role Role) bool {
	return slices.ContainsFunc(rights, func(r Right) bool { return r.whole() && r.Role.Includes(role) })
}

// describe describes the rights in words.
func describe(rights []Right) string {
	if len(rights) == 0 {
		return "no grant"
	}
	var out []string
	for _, r := range rights {
		switch {
		case r.Collection != "":
			out = append(out, fmt.Sprintf("%s for collection %s", r.Role, r.Collection))
		case r.Place != "":
			out = append(out, fmt.Sprintf("%s at place %s", r.Role, r.Place))
		default:
			out = append(out, string(r.Role))
		}
	}
	slices.Sort(out)
	return agree.Clip(strings.Join(slices.Compact(out), ", "), 300)
}
