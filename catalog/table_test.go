package catalog

import "testing"

// TestWhatPeopleAskForIsACommand looks for rows about commands that there are not.
func TestWhatPeopleAskForIsACommand(t *testing.T) {
	for kind := range asked {
		if _, known := LevelOf(kind); !known {
			t.Errorf("%q is asked for by people, and no subject has it", kind)
		}
	}
}
