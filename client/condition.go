package client

import (
	"context"
	"net/http"
	"strconv"
)

type (
	versionKey struct{}
	onceKey    struct{}
	noteKey    struct{}
)

// If has the changes that are asked for with the context made only while what they change has this version, which a
// Note of an earlier answer has: otherwise they are refused with wire.CodeStale. An empty version is no condition. A
// change of what has no version is refused.
func If(ctx context.Context, version string) context.Context {
	return context.WithValue(ctx, versionKey{}, version)
}

// Once names the one request that is made with the context, in 1 to 200 visible characters of ASCII. Sent again within
// a day, with the same name by the same person, it is not carried out again, and is answered as before. What cannot be
// named so is refused; a name that another request had, too.
func Once(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, onceKey{}, name)
}

// Note is what the latest answer to a request that was made with its context says beside its body.
type Note struct {
	Version string // of what was shown or changed, for If; empty if it has none
}

// Noting has answers to what is asked for with the context noted, one after the other.
func Noting(ctx context.Context, n *Note) context.Context {
	return context.WithValue(ctx, noteKey{}, n)
}

// condition adds what the request's context says.
func condition(r *http.Request) {
	if r.Method == http.MethodGet {
		return
	}
	if version, _ := r.Context().Value(versionKey{}).(string); version != "" {
		r.Header.Set("If-Match", strconv.Quote(version))
	}
	if name, _ := r.Context().Value(onceKey{}).(string); name != "" {
		r.Header.Set("Idempotency-Key", name)
	}
}

// note notes a success.
func note(answer *http.Response) {
	if n, _ := answer.Request.Context().Value(noteKey{}).(*Note); n != nil {
		n.Version, _ = strconv.Unquote(answer.Header.Get("ETag"))
	}
}
