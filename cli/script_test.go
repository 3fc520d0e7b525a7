package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/api/wire"
	"holdfast/demo"
	"holdfast/internal/ports"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"holdfast": func() { os.Exit(Main(os.Args[1:], os.Stdin, formatted{os.Stdout}, formatted{os.Stderr})) },
	})
}

// formatted ends the program when it prints what fmt makes of a format that does not fit its arguments, as %!w(<nil>).
type formatted struct{ to *os.File }

func (c formatted) Write(p []byte) (int, error) {
	if regexp.MustCompile(`%!.?\(`).Match(p) {
		fmt.Fprintf(os.Stderr, "a format does not fit its arguments: %s\n", p)
		os.Exit(99)
	}
	return c.to.Write(p)
}

// TestScripts plays testdata/script/*.txtar: each is one promise of the command line. Those that start nodes, but for the
// shortest, are in testdata/nodes.
func TestScripts(t *testing.T) {
	t.Parallel()
	play(t, "testdata/script")
}

// play plays the scripts of a folder.
func play(t *testing.T, dir string) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: false,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"site": site, "ports": setPorts, "ready": ready, "status": status, "has": has, "fetch": fetch, "flip": flipBit,
			"says": says,
		},
	})
}

// site serves the demo site until the script ends: $NAMESERVER, $LIBRARY, $PRESS, $CITY.
func site(ts *testscript.TestScript, neg bool, args []string) {
	s, err := demo.Serve(context.Background())
	ts.Check(err)
	ts.Defer(func() { ts.Check(s.Close()) })
	ts.Setenv("NAMESERVER", s.Nameserver)
	for i, name := range []string{"LIBRARY", "PRESS", "CITY"} {
		ts.Setenv(name, s.Seeds[i])
	}
}

// take returns n free addresses that no other script has. Demos, which scripts run as well, take theirs from other ports.
func take(n int) ([]string, error) {
	var out []string
	for len(out) < n {
		// Reserved before it is tried: a node that has it, and just now starts again, must not find it in use.
		port := highestPort + 1 + rand.IntN(32_767-highestPort)
		held, err := ports.Hold(port) // until this process ends: nodes come back
		if err != nil {
			return nil, err
		}
		if held == nil {
			continue
		}
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		packets, err := net.ListenPacket("udp", at)
		if err != nil {
			continue // somebody has it who did not ask for it
		}
		l, err := net.Listen("tcp", at)
		if err == nil {
			err = l.Close()
			out = append(out, at)
		}
		if err := errors.Join(err, packets.Close()); err != nil && !errors.Is(err, syscall.EADDRINUSE) {
			return nil, err
		}
	}
	return out, nil
}

// setPorts sets $<NAME>_PEER, $<NAME>_API and $<NAME>_ACCESS to free addresses for each name, and replaces them in the files
// of the work folder that end in .toml.
func setPorts(ts *testscript.TestScript, neg bool, args []string) {
	var pairs []string
	found, err := take(3 * len(args))
	ts.Check(err)
	for n, name := range args {
		for i, kind := range []string{"PEER", "API", "ACCESS"} {
			ts.Setenv(name+"_"+kind, found[3*n+i])
			pairs = append(pairs, "$"+name+"_"+kind, found[3*n+i])
		}
	}
	pairs = append(pairs, "$WORK", ts.Getenv("WORK"))
	files, err := filepath.Glob(filepath.Join(ts.Getenv("WORK"), "*.toml"))
	ts.Check(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		ts.Check(err)
		ts.Check(os.WriteFile(file, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o644))
	}
}

// ready waits until a node's API says so: ready ADDRESS.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ts.Check(every(ctx, 50*time.Millisecond, func() (bool, error) {
		answer, err := http.Get("http://" + args[0] + "/health")
		if err != nil {
			return false, nil
		}
		defer answer.Body.Close()
		var h wire.Health
		err = json.NewDecoder(answer.Body).Decode(&h)
		return h.Ready && h.Quorum, err
	}))
}

// says waits until a file has a text: says FILE TEXT LOG…. If it has not after a minute, the script ends with what is in
// the files.
func says(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := every(ctx, 50*time.Millisecond, func() (bool, error) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return strings.Contains(string(text), args[1]), err
	})
	if err == nil {
		return
	}
	for i, name := range args {
		if text, err := os.ReadFile(ts.MkAbs(name)); i != 1 {
			ts.Logf("%s (%v):\n%s", name, err, text)
		}
	}
	ts.Fatalf("%s does not say %q: %v", args[0], args[1], err)
}

// status runs a command that must end with the exit code: status CODE COMMAND…
func status(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

// has checks that a file is JSON whose value at the path is as given: has FILE path.to.value VALUE.
func has(ts *testscript.TestScript, neg bool, args []string) {
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	for _, name := range strings.Split(args[1], ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			var i int
			_, err := fmt.Sscan(name, &i)
			ts.Check(err)
			if i >= len(at) {
				ts.Fatalf("%s: only %d items", args[1], len(at))
			}
			v = at[i]
		}
	}
	if got := fmt.Sprint(v); (got == args[2]) == neg {
		ts.Fatalf("%s is %q, not %q", args[1], got, args[2])
	}
}

// fetch gets a URL until it answers 200 and contains the text: fetch URL TEXT.
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ts.Check(every(ctx, 50*time.Millisecond, func() (bool, error) {
		answer, err := http.Get(args[0])
		if err != nil {
			return false, nil
		}
		defer answer.Body.Close()
		var body bytes.Buffer
		_, err = body.ReadFrom(answer.Body)
		return answer.StatusCode == http.StatusOK && strings.Contains(body.String(), args[1]), err
	}))
}

// flipBit turns a bit in the middle of the file.
func flipBit(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	ts.Check(flip(path, info.Size()/2))
}
