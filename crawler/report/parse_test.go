package report

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Lines as Heritrix itself wrote them.
const (
	heritrixCrawl = "2009-06-01T15:36:39.373Z   200      18247 http://www.example.com/lib/print.css XRRRE http://get.example.com/other/ text/css" +
		" #049 20090601153639236+133 sha1:TVU3CBZF4MYL4OA4FRIPUSNHP3XFKYLB - content-size:18510\n"
	heritrixDup = "2009-06-01T15:36:38.900Z   200        342 http://img.example.com/pixel.gif XRRRE http://get.example.com/other/ image/gif #009" +
		` 20090601153638886+42 sha1:GKHEOJZBVEZULAA62VJTEQHKYLI7QSMM - duplicate:"1039-130-20090501153616-00000-har.arc,2168444",content-size:342` + "\n"
	heritrixProgress = "2015-04-29T12:42:54Z         774         573          185        0.9(2.31)     49(41)            16             2" +
		"        61249        270848            1         456         114\n"
	heritrixURIError = `2009-06-01T15:36:37.230Z http://www.example.com/js/code.js "Unsupported scheme: javascript" javascript:,example,shockwave` + "\n"
)

func TestHeritrixsLinesComeBackAsTheyWere(t *testing.T) {
	for _, want := range []string{heritrixCrawl, heritrixDup} {
		l, err := ParseLine([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(l.AppendTo(nil)); got != want {
			t.Errorf("got  %swant %s", got, want)
		}
	}
	if p, err := parseProgress([]byte(heritrixProgress)); err != nil || string(p.AppendTo(nil)) != heritrixProgress {
		t.Errorf("%v\ngot  %swant %s", err, p.AppendTo(nil), heritrixProgress)
	}
	if e, err := parseURIError([]byte(heritrixURIError)); err != nil || string(e.AppendTo(nil)) != heritrixURIError {
		t.Errorf("%v\ngot  %swant %s", err, e.AppendTo(nil), heritrixURIError)
	}
}

func TestParsedLine(t *testing.T) {
	l, err := ParseLine([]byte(heritrixDup))
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Annotations) != 2 || l.Annotations[1] != "content-size:342" || l.Revisit() != DupByHash || l.Worker != 9 || l.Duration != 42*time.Millisecond || l.Source != "" {
		t.Errorf("%+v", l)
	}
	l = Line{Logged: noon, Status: 200, Size: 5, URI: "http://h/", Worker: 1, Extra: string(AppendExtra(nil, 68, "WEB-2.warc.gz", 1234))}
	back, err := ParseLine(l.AppendTo(nil))
	if err != nil || back.Extra != `{"contentSize":68,"warcFilename":"WEB-2.warc.gz","warcFileOffset":1234}` {
		t.Errorf("%q %v", back.Extra, err)
	}
	for _, bad := range []string{"", "x", strings.Repeat("- ", 12), "2009-06-01T15:36:39.373Z 200 - u - - - #1 2009060115363923+133 - - -"} {
		if l, err := ParseLine([]byte(bad)); err == nil {
			t.Errorf("%q was taken for %+v", bad, l)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("http://h/ \x00", "LLE", "via", "text/html; x", "2t", `{"a": 1}`, 200, int64(10), 7)
	f.Add("http://h/", strings.Repeat("L", 60), "", "", "a,b", "", -9998, int64(-1), 1000)
	f.Fuzz(func(t *testing.T, uri, path, via, mime, note, extra string, status int, size int64, worker int) {
		path = strings.Map(func(c rune) rune { // a hop is a letter
			if c < 'A' || c > 'Z' {
				return -1
			}
			return c
		}, path)
		l := Line{Logged: noon, Status: status, Size: size, URI: uri, Path: path, Via: via, MIME: mime, Worker: worker, Begin: noon, Duration: time.Second,
			Annotations: []string{note, note}, Extra: extra}
		line := l.AppendTo(nil)
		if bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
			t.Fatalf("not one line: %q", line)
		}
		if extra != "" {
			return // foreign text may look like anything
		}
		back, err := ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		if again := back.AppendTo(nil); !bytes.Equal(again, line) {
			t.Errorf("got  %qwant %q", again, line)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{heritrixCrawl, heritrixDup, heritrixProgress, heritrixURIError, ProgressLegend, "2026-03-04T12:00:00Z CRAWL ENDED - Finished"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := ParseLine(data); err == nil {
			_ = l.AppendTo(nil)
		}
		if p, err := parseProgress(data); err == nil {
			if again, err := parseProgress(p.AppendTo(nil)); err != nil {
				t.Errorf("%+v came back as %+v: %v", p, again, err)
			}
		}
		if e, err := parseURIError(data); err == nil {
			line := e.AppendTo(nil)
			if back, err := parseURIError(line); err != nil || !bytes.Equal(back.AppendTo(nil), line) {
				t.Errorf("%q came back as %+v: %v", line, back, err)
			}
		}
		if s, err := ParseSizes(string(data)); err == nil {
			if back, err := ParseSizes(s.String()); err != nil || back != s {
				t.Errorf("sizes %v came back as %v", s, back)
			}
		}
		q := Query{MinStatus: 200, MaxStatus: 299, Host: ".example.com", MIME: "text/*"}
		_ = q.matches(data)
		_ = hostOf(string(data))
	})
}

// What a server said has not changed is told from other duplicates, also where the log says first which record has it.
func TestRevisitOfALine(t *testing.T) {
	for notes, want := range map[string]Revisit{
		`2t`:                             Novel,
		`duplicate:"f,1,20250101000000"`: DupByHash,
		`duplicate:"f,1,20250101000000",duplicate:digest`:              DupByHash,
		`duplicate:"f,1,20250101000000",duplicate:server-not-modified`: NotModified,
		`duplicate:server-not-modified,2t`:                             NotModified,
		`2t,discarded:filter`:                                          Discarded,
	} {
		l := Line{Annotations: annotations(notes)}
		if got := l.Revisit(); got != want {
			t.Errorf("%s: %v, want %v", notes, got, want)
		}
	}
}
