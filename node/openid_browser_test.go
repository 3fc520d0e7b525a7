//go:build browser && slow

package node

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
	"holdfast/internal/browsertest"
	"holdfast/node/config"
)

// provider is npm's oidc-provider, a real service of OpenID Connect.
type provider struct {
	folder, script, file string
	settings             map[string]any
	stop                 func()
}

// newProvider lets npm bring the service into the cache of this machine, once.
func newProvider(t *testing.T, port int, redirect string) *provider {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("testdata/issuer/issuer.mjs")
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{folder: filepath.Join(cache, "holdfast-checks", "oidc-provider-9.13.3"), script: script,
		file:     filepath.Join(t.TempDir(), "settings.json"),
		settings: map[string]any{"port": port, "redirect": redirect}}
	if !exists(filepath.Join(p.folder, "node_modules", "oidc-provider")) {
		if err := os.MkdirAll(p.folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"package.json", "package-lock.json"} {
			text, err := os.ReadFile(filepath.Join("testdata/issuer", name))
			if err == nil {
				err = os.WriteFile(filepath.Join(p.folder, name), text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		bring := exec.CommandContext(t.Context(), "npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund")
		bring.Dir = p.folder
		if said, err := bring.CombinedOutput(); err != nil {
			t.Fatalf("npm ci, of Debian's package npm, brings oidc-provider: %v: %s", err, said)
		}
	}
	t.Cleanup(func() {
		if p.stop != nil {
			p.stop()
		}
	})
	return p
}

// set changes how the service answers from now on.
func (p *provider) set(t *testing.T, name string, value any) {
	t.Helper()
	p.settings[name] = value
	text, err := json.Marshal(p.settings)
	if err == nil {
		err = os.WriteFile(p.file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// start starts the service, with new keys, and waits until it answers.
func (p *provider) start(t *testing.T) {
	t.Helper()
	cmd := exec.Command("node", p.script, p.file)
	cmd.Dir = p.folder
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		p.stop = nil
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the service says %q: %v", line, err)
	}
}

// person is somebody at a browser.
type person struct {
	*browsertest.Tab
	t *testing.T
}

// until waits until the page says the text.
func (p person) until(text string) {
	p.t.Helper()
	p.Until(p.t, text)
}

// signIn presses the button of the account, and signs in at the service.
func (p person) signIn(name string) {
	p.t.Helper()
	p.Eval(p.t, `document.querySelector('form[action$="/sign-in/openid"] button').click()`, nil)
	p.until("Sign-in")
	p.Eval(p.t, fmt.Sprintf(`document.querySelector("[name=login]").value = %q;
		document.querySelector("[name=password]").value = "x"; document.querySelector("form").submit()`, name), nil)
	p.until("Authorize")
	p.Eval(p.t, `document.querySelector("form").submit()`, nil)
}

// People sign in at a real service, in a real browser: by an invitation, by groups, with keys that change; not with a
// wrong nonce, not without the service, and with less when a group is lost.
func TestBrowserSignIn(t *testing.T) {
	ports := freeUDP(t, 2)
	issuer := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret-of-the-client\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("cluster = \"test\"\nprofile = \"local\"\ndata = %q\npeer = \"127.0.0.1:%d\"\napi = \"127.0.0.1:0\"\naccess = \"127.0.0.1:0\"\n"+
		"reserve = \"1MiB\"\nopenid-issuer = %q\nopenid-client = \"holdfast\"\nopenid-secret-file = %q\nopenid-name = \"Lindhaven\"\n"+
		"openid-scopes = [\"openid\", \"profile\", \"email\", \"groups\"]\nopenid-create = true\n"+
		"openid-groups = [{group = \"archivists\", role = \"curator\"}, {group = \"machines\", role = \"operator\"}]\n"+
		"[[replica]]\nname = \"north\"\nkind = \"bitarchive\"\n[[node]]\nname = \"north-1\"\nreplica = \"north\"\n",
		filepath.Join(t.TempDir(), "<node>"), ports[1], issuer, secret)
	f, err := config.Parse("cluster.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := f.Node("north-1")
	if err != nil {
		t.Fatal(err)
	}
	n := startNodes(t, []config.Config{cfg})[0]
	n.person(t, "berta", catalog.Giving{Role: catalog.RoleAdmin})
	_, port, err := net.SplitHostPort(n.cfg.Listen.API)
	if err != nil {
		t.Fatal(err)
	}
	pages := "http://localhost:" + port
	service := newProvider(t, ports[0], pages+"/sign-in/openid")
	service.set(t, "groups", map[string][]string{"anna": {"archivists", "staff"}, "dora": {"machines"}, "emil": {"staff"}})
	service.start(t)

	own, err := n.token.Text()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := client.New("http://"+n.cfg.Listen.API, own)
	if err != nil {
		t.Fatal(err)
	}
	made, err := archive.People().Invite(t.Context(), wire.PersonRequest{Name: "Anna", Mail: "anna@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	browser := browsertest.Start(t)
	view := browsertest.View{Width: 1200, Language: "en"}
	anna := person{browser.Open(t, pages, view), t}

	// By an invitation, with what the groups give.
	anna.Go(t, strings.TrimPrefix(made.URL, pages))
	anna.signIn("anna")
	anna.until("Anna, curator")
	p, err := archive.People().Show(t.Context(), "Anna")
	if err != nil || len(p.Identities) != 1 || p.Identities[0].Issuer != issuer || p.Identities[0].Subject != "anna" || len(p.Grants) != 1 || !p.Grants[0].Groups {
		t.Fatalf("%+v %v", p, err)
	}
	anna.Go(t, "/people/"+p.ID)
	anna.until(issuer)

	// Somebody else at her own browser: by groups alone. Without a group that gives something, nobody.
	dora := person{browser.Open(t, pages, view), t}
	dora.Go(t, "/sign-in?next=/jobs")
	dora.signIn("dora")
	dora.until("dora of the issuer, operator")
	if at := dora.URL(t); at != pages+"/jobs" {
		t.Errorf("she comes back to %s", at)
	}
	emil := person{browser.Open(t, pages, view), t}
	emil.Go(t, "/sign-in")
	emil.signIn("emil")
	emil.until("linked to nobody here")

	// Unlinked, she is nobody here: her session ends, and she is not taken for who she was.
	was, err := archive.People().Show(t.Context(), "dora of the issuer")
	if err != nil || len(was.Identities) != 1 {
		t.Fatalf("%+v %v", was, err)
	}
	if _, err := archive.People().Unlink(t.Context(), was.ID, was.Identities[0].ID, "a trial"); err != nil {
		t.Fatal(err)
	}
	dora.Go(t, "/jobs")
	dora.until("Sign in with Lindhaven")
	dora.Eval(t, `document.querySelector('form[action$="/sign-in/openid"] button').click()`, nil)
	dora.until("belongs to somebody else here") // her name is taken, by herself

	// A lost group, after keys that changed with a restart.
	if _, err := archive.Grants().Give(t.Context(), wire.GrantRequest{Person: "Anna", Role: wire.RoleReader}); err != nil {
		t.Fatal(err)
	}
	service.stop()
	service.set(t, "groups", map[string][]string{"anna": {"staff"}, "dora": {"machines"}})
	service.start(t)
	anna.Go(t, "/sign-in")
	anna.signIn("anna")
	anna.until("Anna, reader")

	// A wrong nonce.
	service.set(t, "nonce", "another")
	fresh := person{browser.Open(t, pages, view), t}
	fresh.Go(t, "/sign-in")
	fresh.signIn("dora")
	fresh.until("could not be confirmed")
	fresh.Go(t, "/jobs")
	fresh.until("Sign in with Lindhaven")
	service.set(t, "nonce", "")

	// What began elsewhere and comes back here, with a good code, signs nobody in. The service knows her from before.
	answer, _ := n.browse(t, http.MethodPost, "/sign-in/openid", "", url.Values{})
	_, elsewhere, _ := strings.Cut(answer.Header.Get("Refresh"), "url=")
	fresh.Eval(t, fmt.Sprintf("setTimeout(() => { location.href = %q }, 0); 0", elsewhere), nil)
	fresh.until("began in another browser")

	// The service is gone: the page says so, and a password still works.
	service.stop()
	eventually(t, "the page says that the service does not answer", func() error {
		answer, body := n.browse(t, http.MethodPost, "/_/en/sign-in/openid", "", url.Values{})
		if answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "does not answer") || !strings.Contains(body, `name="password"`) {
			return fmt.Errorf("%d %s", answer.StatusCode, body)
		}
		return nil
	})
	fresh.Go(t, "/sign-in")
	fresh.until("does not answer")
	invited, err := archive.People().Invite(t.Context(), wire.PersonRequest{Name: "Carla", Mail: "carla@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(invited.URL)
	if err != nil {
		t.Fatal(err)
	}
	answer, body := n.browse(t, http.MethodPost, "/invitation", "", url.Values{"text": {at.Query().Get("text")}, "password": {"correct horse battery"}})
	if answer.StatusCode != http.StatusSeeOther {
		t.Errorf("by a password: %d %s", answer.StatusCode, body)
	}
}
