package api

import (
	"net/http"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/harvest"
)

func TestOnlyAnOperatorLetsACrawlReachTheNodesOwnNetwork(t *testing.T) {
	_, client := cluster(t)
	for name, change := range map[string]func(*harvest.Settings){
		"allow_private": func(s *harvest.Settings) { s.AllowPrivate = true },
		"nameserver":    func(s *harvest.Settings) { s.Nameserver = "127.0.0.1:53" },
	} {
		settings := &Settings{harvest.DefaultSettings()}
		change(&settings.Settings)
		asked := JobRequest{Name: "j", Seeds: []string{"http://127.0.0.1/"}, Settings: settings}
		if _, err := client(catalog.RoleCurator).CreateJob(t.Context(), asked); status(err) != http.StatusForbidden ||
			!strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "operator") {
			t.Errorf("%s: a curator gets %v", name, err)
		}
		if _, err := client(catalog.RoleOperator).CreateJob(t.Context(), asked); err != nil {
			t.Errorf("%s: an operator gets %v", name, err)
		}
	}
}
