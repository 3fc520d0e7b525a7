package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/catalog"
)

// The level rises only when every member supports it, and a refusal names the member that does not.
func TestTheLevelRisesWhenEveryMemberSupportsIt(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, 1)
	admin := open(b.old("root", catalog.RoleAdmin))
	now, err := admin.Level(t.Context())
	if err != nil || now.Level != 1 || now.Supported != 1 || now.Newest != catalog.Level || len(now.Members) != 1 {
		t.Fatalf("%+v %v", now, err)
	}
	_, err = admin.RaiseLevel(t.Context(), 2)
	if status(err) != http.StatusConflict || !strings.Contains(err.Error(), "north-1 supports level 1") {
		t.Fatalf("a member supports level 1 only: %v", err)
	}
	two := 2
	b.must(catalog.UpdateMember, catalog.MemberChange{ID: self, Level: &two})
	if now, err = admin.RaiseLevel(t.Context(), 2); err != nil || now.Level != 2 || now.Supported != 2 {
		t.Fatalf("%+v %v", now, err)
	}
	if now, err = admin.RaiseLevel(t.Context(), 2); err != nil || now.Level != 2 {
		t.Errorf("the same again is no error: %+v %v", now, err)
	}
	if _, err = admin.RaiseLevel(t.Context(), 1); status(err) != http.StatusConflict || !strings.Contains(err.Error(), "never lowered") {
		t.Errorf("%v", err)
	}
	if _, err = open(b.old("operator", catalog.RoleOperator)).RaiseLevel(t.Context(), 3); status(err) != http.StatusForbidden {
		t.Errorf("an operator: %v", err)
	}
}

// A cluster that was recovered at level 1 comes to a level at which its members compare their copies, not to one at which
// nobody would ask them to.
func TestARecoveredClusterIsNotRaisedToLevel2(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, 1)
	admin, newest := open(b.old("admin", catalog.RoleAdmin)), catalog.Level
	b.must(catalog.UpdateMember, catalog.MemberChange{ID: self, Level: &newest})
	b.must(catalog.RaiseEpoch, catalog.EpochChange{Epoch: 2, Reason: "fire"})
	_, err := admin.RaiseLevel(t.Context(), 2)
	if status(err) != http.StatusConflict || !strings.Contains(err.Error(), "level 3") {
		t.Fatalf("%v", err)
	}
	if now, err := admin.RaiseLevel(t.Context(), newest); err != nil || now.Level != newest {
		t.Errorf("%+v %v", now, err)
	}
}

// A command above the cluster's level is refused with what to do.
func TestACommandAboveTheLevelSaysHowToRaiseIt(t *testing.T) {
	t.Parallel()
	err := (&server{}).explain(&catalog.Refusal{Code: catalog.Unsupported, Message: "command \"x\" is not known at level 1"})
	if err.Status != http.StatusNotImplemented || !strings.Contains(err.Detail, fmt.Sprint("holdfast cluster level ", catalog.Level)) {
		t.Error(err)
	}
}
