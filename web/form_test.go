package web

import (
	"bytes"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast/api/wire"
	"holdfast/harvest"
)

// What a setting's field shows is what is stored, when it is typed as it stands.
func TestSettingsAsTyped(t *testing.T) {
	t.Parallel()
	values := valuesOf(harvest.DefaultSettings())
	for _, s := range harvest.Reference() {
		value, given := values[s.Name]
		if !given {
			continue
		}
		text := settingText(s, value)
		if text == "" {
			continue
		}
		patch, err := patchOf(s.Name, strings.ReplaceAll(text, "\n", "\r\n"))
		settings := harvest.DefaultSettings()
		if err == nil {
			err = settings.Lay(patch)
		}
		if got := valuesOf(settings)[s.Name]; err != nil || string(got) != string(value) {
			t.Errorf("%s is %s, shown as %q, read as %s: %v", s.Name, value, text, got, err)
		}
	}
}

// The form of a configuration says for each setting what holds if it is left empty, and where that comes from. Other
// changes leave the settings, and with them the secrets, alone.
func TestOriginsOfSettings(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, body := s.get(t, "/_/en/domains/acted.example/configurations/main")
	for _, want := range []string{"If empty: <bdi>7</bdi> (template <bdi>default</bdi>).", "If empty: <bdi>host</bdi> (the program’s default).", `name="s.max_hops" value="3"`} {
		if !strings.Contains(body, want) {
			t.Errorf("there is no %s in\n%s", want, body)
		}
	}
	for _, one := range harvest.Reference() {
		if has := strings.Contains(body, `name="s.`+one.Name+`"`); has != one.Layable {
			t.Errorf("%s can be laid over: %v, and is in the form: %v", one.Name, one.Layable, has)
		}
	}
	s.api.changes()
	resp, _ := s.post(t, "/domains/acted.example/configurations/main", formOf("K", "version", "3", "template", "default", "seeds", "main", "s.max_hops", "3", "comments", "new"))
	if did := s.api.changes(); resp.StatusCode != http.StatusSeeOther || len(did) != 1 || strings.Contains(did[0], "settings") {
		t.Errorf("did %v", did)
	}
	resp, _ = s.post(t, "/domains/acted.example/configurations/main", formOf("L", "version", "3", "template", "default", "seeds", "main", "s.max_hops", "", "comments", "new"))
	if did := s.api.changes(); resp.StatusCode != http.StatusSeeOther || len(did) != 1 || !strings.Contains(did[0], `"settings":{}`) {
		t.Errorf("did %v", did)
	}
}

// A file stands for the field that it belongs to; without one, what was typed counts.
func TestFilesInForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for content, want := range map[string]string{"https://file.example/\n": "https://file.example/\n", "": "https://typed.example/"} {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, err := w.CreateFormFile("urls.file", "seeds.txt")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"urls": "https://typed.example/", "key": "K" + content} {
			if err := w.WriteField(name, value); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://archive.test/harvests/3/seeds", &b)
		r.Header.Set("Content-Type", w.FormDataContentType())
		r.Header.Set("Origin", "http://archive.test")
		r.AddCookie(&http.Cookie{Name: "holdfast", Value: "admin"})
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, r)
		if did := s.api.changes(); answer.Code != http.StatusSeeOther || len(did) != 1 || did[0] != "POST /harvests/3/seeds "+want {
			t.Errorf("%d, did %q", answer.Code, did)
		}
	}
}

// Archive now makes an event harvest that runs once, and nothing is fetched before it is activated. One that gets no
// seed is taken away again.
func TestArchiveNow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	form := formOf("K", "name", "Now", "urls", "https://a.example/")
	resp, _ := s.post(t, "/archive-now", form)
	did := strings.Join(s.api.changes(), "\n")
	if resp.Header.Get("Location") != "/harvests/8/preview?done=K" || did != `POST /schedules {"name":"once","schedule":{"unit":"once"},"comment":"made for what is archived now"}
POST /harvests {"name":"Now","kind":"event","schedule":"once"}
POST /harvests/8/seeds https://a.example/` {
		t.Errorf("%v did\n%s", resp.Header, did)
	}
	s.api.answers["/schedules/once"] = wire.Schedule{Schedule: json.RawMessage(`{"unit":"once"}`)}
	s.api.answers["POST /harvests/8/seeds"] = wire.HarvestSeeds{Bad: 1, BadLines: []wire.BadLine{{Line: 1, Reason: "no URL"}}}
	form.Set("key", "L")
	resp, body := s.post(t, "/_/en/archive-now", form)
	did = strings.Join(s.api.changes(), "\n")
	if resp.StatusCode != 422 || !strings.Contains(body, "no harvest was made") || !strings.Contains(body, "1: no URL") || !strings.HasSuffix(did, `POST /harvests/8/delete {"reason":"it got no seeds"}`) {
		t.Errorf("%d, did\n%s\n%s", resp.StatusCode, did, body)
	}
	s.api.answers["POST /harvests/8/delete"] = refusal(409, wire.CodeConflict, "it cannot be deleted")
	if _, body = s.post(t, "/_/en/archive-now", form); strings.Contains(body, "no harvest was made") || !strings.Contains(body, "A harvest is left") || !strings.Contains(body, "it cannot be deleted") {
		t.Errorf("a harvest is left, and the page does not say so:\n%s", body)
	}
	s.api.answers["POST /harvests/8/seeds"] = refusal(http.StatusUnauthorized, wire.CodeUnauthorized, "signed out in between")
	if _, body = s.post(t, "/_/en/archive-now", form); strings.Contains(body, "Nothing was done") || !strings.Contains(body, "A harvest is left") {
		t.Errorf("signed out in between:\n%s", body)
	}
	s.api.answers["/schedules/once"] = wire.Schedule{Schedule: json.RawMessage(`{"unit":"day"}`)}
	s.api.changes()
	if resp, _ = s.post(t, "/_/en/archive-now", form); resp.StatusCode != 422 || len(s.api.changes()) > 0 {
		t.Errorf("a schedule named once that runs daily: %d", resp.StatusCode)
	}
}

// What a person typed as a time is in her zone.
func TestTimesAreInTheReadersZone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sessions.open["dane"] = Session{Text: "dane", Person: "p1", Role: "admin", Zone: "Europe/Copenhagen", Expires: now().Add(life)}
	form := formOf("K", "role", "reader", "until", "2026-07-01T00:30")
	if resp, body := s.send(t, http.MethodPost, "/people/p1/grant", "dane", form, ours()...); resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if did := s.api.changes(); len(did) != 1 || !strings.Contains(did[0], `"until":"2026-07-01T00:30:00+02:00"`) {
		t.Errorf("did %v", did)
	}
}

// Whatever is typed into any field of any form comes back as text, also beside what the API says of it.
func TestHostileForms(t *testing.T) {
	t.Parallel()
	for what, typed := range map[string]string{"markup": `"><script>alert(1)</script></textarea><img src=x onerror=alert(1)>`, "rtl": "\u202eabc\u200f אבג",
		"long": strings.Repeat("W", 200), "lines": "a\r\nSet-Cookie: b=c\r\n\r\n<b>", "template": "{{.}}'`${1}"} {
		if testing.Short() && what != "markup" && what != "lines" {
			continue
		}
		s := newSite(t)
		s.api.refuseAll(wire.Problem{Type: wire.ProblemType + "invalid", Status: 422, Detail: typed, Errors: []wire.ProblemField{{Location: "body.name", Message: typed},
			{Location: typed, Message: typed}}})
		for i, one := range tries("north-1") {
			_, page := s.get(t, one.path)
			form := formOf("K" + strconv.Itoa(i))
			for _, m := range regexp.MustCompile(` name="([^"]*)"`).FindAllStringSubmatch(page, -1) {
				if m[1] != "key" && m[1] != "viewport" && m[1] != "robots" {
					form.Set(m[1], typed)
				}
			}
			if confirm := regexp.MustCompile(`Type <bdi>([^<]*)</bdi> to confirm`).FindStringSubmatch(page); confirm != nil {
				form.Set("confirm", confirm[1])
			}
			resp, body := s.post(t, "/_/en"+one.path, form)
			if !slices.Contains([]int{404, 409, 422}, resp.StatusCode) || len(resp.Header["Set-Cookie"]) > 0 {
				t.Errorf("%s %s: %d %v", what, one.path, resp.StatusCode, resp.Header)
			}
			checkPage(t, what+" "+one.path, "en", body)
			if signedOut, body := s.send(t, http.MethodPost, "/_/en"+one.path, "", form, ours()...); signedOut.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s: %d", what, one.path, signedOut.StatusCode)
			} else {
				checkPage(t, what+" "+one.path, "en", body)
			}
		}
	}
}

// A name of a queue in a link becomes an expression for it alone.
func TestQueuesByName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"org,example,www:", "a+b(c)|d", `\d{3}.*?[^x]$`, "#bücher"} {
		if got := regexp.MustCompile("^(?:" + quoteMeta(name) + ")$"); !got.MatchString(name) || got.MatchString("x"+name) {
			t.Errorf("%q becomes %q", name, got)
		}
	}
	s := newSite(t)
	if _, body := s.get(t, "/jobs/15/freeze?"+url.Values{"name": {"a.b"}}.Encode()); !strings.Contains(body, `value="a\.b"`) {
		t.Errorf("%s", body)
	}
}

// An act goes on when the browser that asked for it goes away, and a slow one is waited for by the second press.
func TestAnActIsNotCutOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wait := make(chan struct{})
	s.api.slow["POST /jobs/15/wish"], s.api.came = wait, make(chan struct{}, 2)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://archive.test/jobs/15/pause", strings.NewReader(formOf("K").Encode()))
	ctx, leave := context.WithCancel(r.Context())
	r = r.WithContext(ctx)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://archive.test")
	r.AddCookie(&http.Cookie{Name: "holdfast", Value: "admin"})
	ended := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		ended <- w.Code
	}()
	<-s.api.came
	leave()
	go func() {
		resp, _ := s.post(t, "/jobs/15/pause", formOf("K"))
		ended <- resp.StatusCode
	}()
	close(wait)
	for range 2 {
		if code := <-ended; code != http.StatusSeeOther {
			t.Errorf("%d", code)
		}
	}
	if did := s.api.changes(); len(did) != 1 {
		t.Errorf("did %v", did)
	}
}
