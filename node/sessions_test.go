//go:build slow

package node

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
)

// browse sends a request to the node's pages, as a browser with the cookie does.
func (r running) browse(t *testing.T, method, path, cookie string, form url.Values) (*http.Response, string) {
	t.Helper()
	_, port, err := net.SplitHostPort(r.cfg.Listen.API)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.cfg.Listen.API+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "localhost:" + port
	request.Header.Set("Origin", "http://"+request.Host)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if cookie != "" {
		request.AddCookie(&http.Cookie{Name: "holdfast", Value: cookie})
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(body)
}

// signIn begins a session with the access token, and returns its cookie.
func (r running) signIn(t *testing.T, token string) string {
	t.Helper()
	var link wire.SignInLink
	status, text := r.askAs(t, token, http.MethodPost, "/api/v1/sign-in-links")
	if status != http.StatusCreated || json.Unmarshal([]byte(text), &link) != nil {
		t.Fatalf("ask for a link: %d %s", status, text)
	}
	u, err := url.Parse(link.URL)
	if err != nil || u.Hostname() != "localhost" || u.Path != "/sign-in" {
		t.Fatalf("%s %v", link.URL, err)
	}
	form := url.Values{"link": {u.Query().Get("link")}}
	answer, body := r.browse(t, http.MethodPost, "/sign-in", "", form)
	for _, c := range answer.Cookies() {
		if answer.StatusCode == http.StatusSeeOther && c.Value != "" {
			return c.Value
		}
	}
	t.Fatalf("open %s: %d %s", link.URL, answer.StatusCode, body)
	return ""
}

// Who signs in at one node is signed in at the other, and what that one asks others for her, they answer. Who signs out
// is signed out everywhere.
func TestASessionHoldsOnTheOtherNode(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, "")[:2])
	north, south := nodes[0], nodes[1]
	token := north.person(t, "anna", catalog.Giving{Role: catalog.RoleReader})
	cookie := north.signIn(t, token)
	eventually(t, "the other node shows what all nodes see", func() error {
		answer, body := south.browse(t, http.MethodGet, "/alerts?format=json", cookie, nil)
		var page struct {
			Faults []any
			Data   struct{ Silent []any }
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil || answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%d %s %v", answer.StatusCode, body, err)
		}
		if len(page.Faults) > 0 || !strings.Contains(body, `"silent"`) && !strings.Contains(body, `"Silent"`) {
			return fmt.Errorf("it says %s", body)
		}
		if len(page.Data.Silent) > 0 {
			return fmt.Errorf("a node did not answer her: %s", body)
		}
		return nil
	})
	if status, text := south.askAs(t, cookie, http.MethodGet, "/api/v1/status"); status != http.StatusUnauthorized {
		t.Errorf("the API takes a cookie from the network: %d %s", status, text)
	}
	own, err := north.token.Text()
	if err != nil {
		t.Fatal(err)
	}
	local := north.signIn(t, own)
	for i, n := range nodes {
		answer, body := n.browse(t, http.MethodGet, "/nodes?format=json", local, nil)
		if want := []int{http.StatusOK, http.StatusUnauthorized}[i]; answer.StatusCode != want {
			t.Errorf("a session of north-1's own token at %s: %d, want %d: %s", n.cfg.Name, answer.StatusCode, want, body)
		}
	}
	eventually(t, "she signs out", func() error {
		answer, body := south.browse(t, http.MethodPost, "/sign-out", cookie, url.Values{})
		if answer.StatusCode != http.StatusSeeOther {
			return fmt.Errorf("%d %s", answer.StatusCode, body)
		}
		return nil
	})
	for _, n := range nodes {
		eventually(t, "she is signed out at "+n.cfg.Name, func() error {
			answer, _ := n.browse(t, http.MethodGet, "/nodes?format=json", cookie, nil)
			if answer.StatusCode != http.StatusUnauthorized {
				return fmt.Errorf("answered %d", answer.StatusCode)
			}
			return nil
		})
	}
}

// Who is invited chooses a password in a browser, and signs in with it at any node.
func TestAPersonComesInWithAPassword(t *testing.T) {
	t.Parallel()
	nodes := startNodes(t, threeConfigs(t, "")[:2])
	north, south := nodes[0], nodes[1]
	own, err := north.token.Text()
	if err != nil {
		t.Fatal(err)
	}
	var invited wire.Invitation
	eventually(t, "she is invited", func() error {
		request := httptest.NewRequest(http.MethodPost, "/api/v1/users", strings.NewReader(`{"name":"Anna Berg","mail":"anna@example.org"}`))
		status, text := north.send(t, request, own)
		if status != http.StatusCreated {
			return fmt.Errorf("%d %s", status, text)
		}
		return json.Unmarshal([]byte(text), &invited)
	})
	u, err := url.Parse(invited.URL)
	if err != nil || u.Hostname() != "localhost" || u.Path != "/invitation" {
		t.Fatal(invited.URL, err)
	}
	if answer, body := north.browse(t, http.MethodGet, u.RequestURI(), "", nil); answer.StatusCode != http.StatusOK || !strings.Contains(body, "Anna Berg") {
		t.Fatalf("%d %s", answer.StatusCode, body)
	}
	const password = "correct horse battery"
	form := url.Values{"text": {u.Query().Get("text")}, "password": {password}}
	answer, body := north.browse(t, http.MethodPost, "/invitation", "", form)
	if answer.StatusCode != http.StatusSeeOther || len(answer.Cookies()) != 1 {
		t.Fatalf("%d %s", answer.StatusCode, body)
	}
	eventually(t, "she signs in at the other node", func() error {
		answer, body := south.browse(t, http.MethodPost, "/sign-in", "", url.Values{"who": {"anna@example.org"}, "password": {password}})
		if answer.StatusCode != http.StatusSeeOther || len(answer.Cookies()) != 1 {
			return fmt.Errorf("%d %s", answer.StatusCode, body)
		}
		// She has no grant yet, and so there is no page for her; but it is she.
		answer, body = south.browse(t, http.MethodGet, "/people", answer.Cookies()[0].Value, nil)
		if answer.StatusCode != http.StatusForbidden || !strings.Contains(body, "Anna Berg") {
			return fmt.Errorf("%d %s", answer.StatusCode, body)
		}
		return nil
	})
	if answer, body := south.browse(t, http.MethodPost, "/sign-in", "", url.Values{"who": {"anna@example.org"}, "password": {password + "?"}}); answer.StatusCode != http.StatusForbidden {
		t.Errorf("a wrong password: %d %s", answer.StatusCode, body)
	}
}
