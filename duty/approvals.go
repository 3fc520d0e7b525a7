package duty

import (
	"fmt"
	"time"

	"holdfast/alert"
	"holdfast/catalog"
)

// ApprovalsWaiting says which proposals wait for a second person, and can still be granted; at most lateShown.
func ApprovalsWaiting(view catalog.View, now time.Time) ([]alert.Alert, error) {
	waiting, err := catalog.ApprovalsIn(view).Waiting()
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	at, err := catalog.PeopleIn(view).Now(catalog.At(now))
	if err != nil {
		return nil, err
	}
	var out []alert.Alert
	for i := range waiting {
		p := &waiting[i]
		same, err := catalog.StillMeant(view, p)
		if err != nil {
			return nil, err
		}
		if p.Late(at) || !same || len(out) == lateShown {
			continue
		}
		out = append(out, alert.New(alert.ApprovalWaits, fmt.Sprint(p.ID), "date", written(p.Until), "act",
			string(p.Class), "of", p.Subject, "files", alert.Number(p.Files), "bytes", alert.Number(p.Bytes)))
	}
	return out, nil
}
