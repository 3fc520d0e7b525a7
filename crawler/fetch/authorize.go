package fetch

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"

	"holdfast/harvest"
)

// ErrChallenge reports a challenge that the credential is no answer to.
var ErrChallenge = errors.New("cannot answer the authentication challenge")

// Authorization is the Authorization header with which cred answers the challenge; count tells how often the
// challenge's nonce was used, this time included. An error does not contain the secret.
func Authorization(cred harvest.Credential, ch Challenge, method, uri string, count int) (string, error) {
	if cred.Kind != ch.Scheme || cred.Realm != "" && cred.Realm != ch.Realm() {
		return "", ErrChallenge
	}
	switch ch.Scheme {
	case "basic":
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(cred.User+":"+cred.Password)), nil
	case "digest":
		return digestAnswer(cred, ch, method, uri, count, rand.Text())
	}
	return "", ErrChallenge
}

// digestHash knows the algorithms of RFC 7616, the weakest first. session: the key depends on the nonces.
func digestHash(algorithm string) (make func() hash.Hash, session bool, rank int) {
	name := strings.ToUpper(algorithm)
	name, session = strings.CutSuffix(name, "-SESS")
	switch name {
	case "", "MD5":
		return md5.New, session, 1
	case "SHA-256":
		return sha256.New, session, 2
	case "SHA-512-256":
		return sha512.New512_256, session, 3
	}
	return nil, false, 0
}

// digestAnswer answers by RFC 7616, with quality of protection "auth" or, as RFC 2069 had it, none.
func digestAnswer(cred harvest.Credential, ch Challenge, method, uri string, count int, cnonce string) (string, error) {
	newHash, session, rank := digestHash(ch.param("algorithm"))
	nonce := ch.param("nonce")
	if rank == 0 || nonce == "" {
		return "", fmt.Errorf("digest algorithm %.20q: %w", ch.param("algorithm"), ErrChallenge)
	}
	qop := ch.param("qop")
	if qop != "" {
		found := false
		for q := range strings.SplitSeq(qop, ",") {
			found = found || strings.EqualFold(strings.TrimSpace(q), "auth")
		}
		if !found {
			return "", fmt.Errorf("digest qop %.20q: %w", qop, ErrChallenge)
		}
	}
	sum := func(parts ...string) string {
		h := newHash()
		h.Write([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(h.Sum(nil))
	}
	realm := ch.Realm()
	key := sum(cred.User, realm, cred.Password)
	if session {
		key = sum(key, nonce, cnonce)
	}
	what := sum(method, uri)
	nc := fmt.Sprintf("%08x", count)
	response := sum(key, nonce, what)
	if qop != "" {
		response = sum(key, nonce, nc, cnonce, "auth", what)
	}
	user, hashed := cred.User, strings.EqualFold(ch.param("userhash"), "true")
	if hashed {
		user = sum(cred.User, realm)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Digest username=%s, realm=%s, nonce=%s, uri=%s, response=\"%s\"", quoted(user), quoted(realm),
		quoted(nonce), quoted(uri), response)
	if a := ch.param("algorithm"); a != "" {
		b.WriteString(", algorithm=" + a)
	}
	if o := ch.param("opaque"); o != "" {
		b.WriteString(", opaque=" + quoted(o))
	}
	if qop != "" {
		fmt.Fprintf(&b, ", qop=auth, nc=%s", nc)
	}
	if qop != "" || session {
		fmt.Fprintf(&b, ", cnonce=\"%s\"", cnonce)
	}
	if hashed {
		b.WriteString(", userhash=true")
	}
	return b.String(), nil
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
