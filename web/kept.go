package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"holdfast/api/wire"
)

// keptField is a field of a form that cannot be shown, with what was typed.
type keptField struct{ Name, Value string }

// kept is what was typed into a form that cannot be shown now.
type kept struct {
	Why    string // message
	Title  string // message: the act
	Fields []keptField
	SignIn bool // it can be sent after signing in
	Large  bool
}

// keepTyped answers a form of somebody who is not known, so that nothing that was typed is lost.
func (t *doing) keepTyped(status int, why string) {
	typed, ok := t.typed(maxTyped)
	if ok {
		t.showKept(typed, status, why)
	}
}

// refuseKept answers a form that the API could not be asked about, so that nothing that was typed is lost.
func (t *doing) refuseKept(typed url.Values, err error) {
	var answered *wire.Error
	if errors.As(err, &answered) && answered.Status == http.StatusUnauthorized {
		t.showKept(typed, http.StatusForbidden, "web.kept-signed-out")
		return
	}
	t.cfg.Log.Debug("a form cannot be shown", "path", t.turn.path, "error", err)
	t.showKept(typed, http.StatusServiceUnavailable, "web.kept-unavailable")
}

func (t *doing) showKept(typed url.Values, status int, why string) {
	k := kept{Why: why, Title: t.title, SignIn: why == "web.kept-signed-out", Large: t.large}
	names := make([]string, 0, len(typed))
	for name := range typed {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range typed[name] {
			k.Fields = append(k.Fields, keptField{name, value})
		}
	}
	t.show(status, "kept", t.view(t.title, k))
}
