package client

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// FuzzProblem reads answers of a server that may be anything: there is always an error that says something.
func FuzzProblem(f *testing.F) {
	f.Add(`{"type":"urn:holdfast:problem:conflict","status":409,"detail":"no","errors":[{"location":"body.x","message":"bad"}]}`, 409)
	f.Add(`<html>bad gateway</html>`, 502)
	f.Add(`{"status":400,"errors":[null]}`, 400)
	f.Fuzz(func(t *testing.T, body string, code int) {
		err := readProblem(&http.Response{StatusCode: code, Status: http.StatusText(code), Body: io.NopCloser(strings.NewReader(body))})
		if err == nil {
			t.Fatal("no error")
		}
		_ = err.Error()
	})
}

// TestANameOfThisMachineIsThisMachine is given the address of another machine for a name that can only mean this one.
func TestANameOfThisMachineIsThisMachine(t *testing.T) {
	for address, ok := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true, "192.0.2.1:80": false,
		"[2001:db8::1]:80": false, "0.0.0.0:80": false, "": false} {
		if err := onlyLoopback("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}
