package api

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/api/wire"
	"holdfast/catalog"
	"holdfast/client"
	"holdfast/harvest"
	"holdfast/harvest/act"
)

// What is decided about is what is done: a file of which no collection is said enters the one that was asked about.
func TestAFileWithoutACollectionEntersTheOneThatWasDecidedOn(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	b.holdAll()
	b.must(catalog.SetCollection, catalog.Collection{Name: "arts"}) // now the first, and not what cluster.toml names first
	arts := open(b.person("anna", catalog.Giving{Role: catalog.RoleCurator, Collection: "arts"}))
	web := open(b.person("wilma", catalog.Giving{Role: catalog.RoleCurator, Collection: "web"}))
	put := func(c *client.Client, name string) (wire.File, error) {
		return c.Files().Put(t.Context(), client.Upload{Name: name, Size: 3,
			SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
			Open:   func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("abc")), nil }})
	}
	if f, err := put(arts, "a.warc"); err != nil || f.Collection != "arts" {
		t.Errorf("a curator of arts: %+v %v", f, err)
	}
	if f, err := put(web, "w.warc"); status(err) != http.StatusForbidden {
		t.Errorf("a curator of web: %+v %v", f, err)
	}
}

// Who may not make a job that reaches the nodes' own network may not send such a job of another there either.
func TestACrawlThatReachesInsideIsNotSentFurther(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	curator := open(b.person("cora", catalog.Giving{Role: catalog.RoleCurator}))
	operator := open(b.person("otto", catalog.Giving{Role: catalog.RoleOperator}))
	hops := json.RawMessage(`50`)
	orders := map[string]act.Act{
		"seeds":  act.Seeds{Seeds: []string{"http://192.168.0.1/"}},
		"change": act.Change{Settings: map[string]json.RawMessage{"max_hops": hops}},
	}
	for settings, inside := range map[string]bool{`{}`: false, `{"allow_private":true}`: true, `{"allow_link_local":true}`: true} {
		made := b.must(catalog.CreateJob, catalog.JobCreation{Harvest: "h", Collection: "web", Submit: true,
			Spec: []byte(`{"name":"j","seeds":["http://example.org/"],"settings":` + settings + `}`)})
		var job catalog.Job
		if err := json.Unmarshal(made.Value, &job); err != nil {
			t.Fatal(err)
		}
		for name, o := range orders {
			if _, err := curator.Jobs().Act(t.Context(), job.ID, o); (status(err) == http.StatusForbidden) != inside {
				t.Errorf("%s by a curator, settings %s: %v", name, settings, err)
			}
			if _, err := operator.Jobs().Act(t.Context(), job.ID, o); status(err) == http.StatusForbidden {
				t.Errorf("%s by an operator, settings %s: %v", name, settings, err)
			}
			want := catalog.RunJob
			if inside {
				want = catalog.ReachInside
			}
			var spec harvest.Job
			if err := b.View(func(v catalog.View) (err error) { spec, err = v.Head(&job); return err }); err != nil {
				t.Fatal(err)
			}
			if got := ActOf(spec.Settings, act.Order{Act: o}); got != want {
				t.Errorf("%s, settings %s, is %s to another node", name, settings, got)
			}
		}
		if _, err := curator.Jobs().Act(t.Context(), job.ID, act.Pause{}); status(err) == http.StatusForbidden {
			t.Errorf("a pause, settings %s: %v", settings, err)
		}
	}
}

// A token that ends makes none that outlives it.
func TestATokenMakesNoneThatOutlivesIt(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	anna := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin}))
	make := func(c *client.Client, program bool, life string) (*client.Client, error) {
		made, err := c.Tokens().Create(t.Context(), wire.AccessTokenRequest{Name: "t", Role: wire.RoleReader, Program: program, Lifetime: life})
		return open(made.Text), err
	}
	for _, program := range []bool{false, true} {
		short, err := make(anna, program, "1h")
		if err != nil {
			t.Fatal(err)
		}
		for _, life := range []string{"", "2h"} {
			if _, err := make(short, true, life); status(err) != http.StatusForbidden || !strings.Contains(err.Error(), "lifetime") {
				t.Errorf("one of a program (%t) that ends in 1h made one for %q: %v", program, life, err)
			}
		}
		if _, err := make(short, true, "30m"); err != nil {
			t.Errorf("a shorter one: %v", err)
		}
	}
}

// Who was disabled gets no byte of a file, by whatever way it is asked for; nor do her programs.
func TestADisabledPersonDownloadsNothing(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	file, _ := b.furnish()
	text := b.person("anna", catalog.Giving{Role: catalog.RoleCurator})
	program, err := open(text).Tokens().Create(t.Context(), wire.AccessTokenRequest{Name: "robot", Role: wire.RoleReader, Program: true})
	if err != nil {
		t.Fatal(err)
	}
	get := func(token, method, ranges string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, b.server.URL+"/api/v1/files/"+file+"/content", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if ranges != "" {
			req.Header.Set("Range", ranges)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	for _, token := range []string{text, program.Text} {
		if code, body := get(token, http.MethodGet, ""); code != http.StatusOK || body != "abc" {
			t.Fatalf("before: %d %q", code, body)
		}
	}
	b.must(catalog.DisablePerson, catalog.PersonRef{ID: "anna", Reason: "left"})
	for _, token := range []string{text, program.Text} {
		for _, ranges := range []string{"", "bytes=0-1"} {
			if code, body := get(token, http.MethodGet, ranges); code != http.StatusUnauthorized || strings.Contains(body, "abc") {
				t.Errorf("after: %d %q", code, body)
			}
		}
		if code, _ := get(token, http.MethodHead, ""); code != http.StatusUnauthorized {
			t.Errorf("HEAD: %d", code)
		}
	}
}

// A node whose clock is behind lets nobody in whose token or grant has ended by the cluster's own time.
func TestAClockThatIsBehindLetsNobodyIn(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	own := open(b.person("anna", catalog.Giving{Role: catalog.RoleReader, Until: catalog.At(time.Now().Add(time.Hour))}))
	short, err := open(b.person("berta", catalog.Giving{Role: catalog.RoleReader})).Tokens().Create(t.Context(), wire.AccessTokenRequest{Name: "t", Role: wire.RoleReader, Lifetime: "1h"})
	if err != nil {
		t.Fatal(err)
	}
	b.later = 2 * time.Hour // the others agree on something, later
	b.must(catalog.SetCollection, catalog.Collection{Name: "radio"})
	if _, err := own.Status(t.Context()); status(err) != http.StatusForbidden {
		t.Errorf("a grant that has ended: %v", err)
	}
	if _, err := open(short.Text).Status(t.Context()); status(err) != http.StatusUnauthorized {
		t.Errorf("a token that has expired: %v", err)
	}
}

// A reader reads everything, so that a reader's grant or token for one collection or place would say what is not so.
func TestAReaderIsForTheWholeArchive(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	anna := open(b.person("anna", catalog.Giving{Role: catalog.RoleAdmin}))
	b.person("berta")
	for _, in := range []wire.GrantRequest{{Collection: "web"}, {Place: "north"}} {
		in.Person, in.Role = "berta", wire.RoleReader
		_, err := anna.Grants().Give(t.Context(), in)
		if status(err) != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), "a reader reads the whole archive") {
			t.Errorf("%+v: %v", in, err)
		}
		_, err = anna.Tokens().Create(t.Context(), wire.AccessTokenRequest{Name: "t", Role: wire.RoleReader, Program: true,
			Collections: some(in.Collection), Places: some(in.Place)})
		if status(err) != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), "a reader reads the whole archive") {
			t.Errorf("a token, %+v: %v", in, err)
		}
	}
	if grants, err := anna.Grants().List(t.Context(), "berta", true); err != nil || len(grants) != 0 {
		t.Errorf("%+v %v", grants, err)
	}
}

func some(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// An operator of a place has the copies there checked, whatever other places have copies.
func TestAnOperatorVerifiesTheCopiesAtHerPlace(t *testing.T) {
	t.Parallel()
	b, open := clusterOf(t, catalog.Level)
	file, _ := b.furnish()
	north := open(b.person("nora", catalog.Giving{Role: catalog.RoleOperator, Place: "north"}))
	curator := open(b.person("cora", catalog.Giving{Role: catalog.RoleCurator}))
	for name, tt := range map[string]struct {
		by       *client.Client
		replicas []string
		code     int
	}{
		"her own":                  {north, []string{"north"}, http.StatusOK},
		"another's":                {north, []string{"third"}, http.StatusForbidden},
		"hers and another's":       {north, []string{"north", "third"}, http.StatusForbidden},
		"all":                      {north, nil, http.StatusForbidden},
		"of a replica that is not": {north, []string{"nowhere"}, http.StatusForbidden},
		"by a curator":             {curator, []string{"north"}, http.StatusForbidden},
		"of none, by all":          {open(localText), []string{"nowhere"}, http.StatusNotFound},
	} {
		found, err := tt.by.Files().Verify(t.Context(), file, tt.replicas...)
		if tt.code == http.StatusOK {
			if err != nil || len(found) != 1 || found[0].Replica != "north" {
				t.Errorf("%s: %+v %v", name, found, err)
			}
			continue
		}
		if status(err) != tt.code {
			t.Errorf("%s: %v, want %d", name, err, tt.code)
		}
	}
}
