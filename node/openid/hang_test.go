package openid

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// hung is a way to the issuer on which one path never answers, or begins an answer and does not end it.
type hung struct {
	i    *issuer
	path string
	body bool
}

func (h hung) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == h.path && !h.body {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	h.i.ServeHTTP(w, r)
	answer := w.Result()
	if r.URL.Path == h.path {
		answer.Body = endlessBody{r.Context()}
	}
	return answer, nil
}

// endlessBody gives nothing until the request is over.
type endlessBody struct{ context.Context }

func (b endlessBody) Read([]byte) (int, error) { <-b.Done(); return 0, b.Err() }

func (b endlessBody) Close() error { return nil }

// A service that hangs holds nobody up for long, and those who come meanwhile no longer than the first.
func TestAServiceThatHangs(t *testing.T) {
	i := newIssuer(t)
	i.claim = func(c map[string]any) { delete(c, "groups"); c["exp"] = time.Now().Add(time.Minute).Unix() }
	for _, path := range []string{"/.well-known/openid-configuration", "/token", "/keys", "/me"} {
		for _, body := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, i, func(c *Config) { c.Transport, c.Now = hung{i, path, body}, time.Now })
				began := time.Now()
				var all sync.WaitGroup
				for range 3 {
					all.Go(func() {
						address, kept, err := d.Begin(t.Context(), "/jobs", "INVITE")
						if err == nil {
							_, _, err = d.Finish(t.Context(), []string{kept}, i.approve(address))
						}
						if !errors.Is(err, ErrSilent) {
							t.Errorf("%s: %v", path, err)
						}
					})
				}
				all.Wait()
				if took := time.Since(began); took != patience {
					t.Errorf("%s, body %t: it took %s, want %s", path, body, took, patience)
				}
			})
		}
	}
}
