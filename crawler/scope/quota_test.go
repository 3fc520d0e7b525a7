package scope

import (
	"errors"
	"testing"

	"holdfast/harvest"
)

func TestQuota(t *testing.T) {
	tests := []struct {
		name     string
		settings harvest.Settings
		objects  int
		bytes    int64
		want     string
	}{
		{"no limits", harvest.Settings{}, 1000, 1000, ""},
		{"below", harvest.Settings{LimitSettings: harvest.LimitSettings{MaxDomainObjects: 3, MaxDomainBytes: 31}}, 2, 10, ""},
		{"objects of the configuration", harvest.Settings{LimitSettings: harvest.LimitSettings{MaxDomainObjects: 3}}, 3, 10, ConfigObjects},
		{"bytes of the configuration", harvest.Settings{LimitSettings: harvest.LimitSettings{MaxDomainBytes: 30}}, 3, 10, ConfigBytes},
		{"objects of the harvest", harvest.Settings{LimitSettings: harvest.LimitSettings{MaxDomainObjects: 9, HarvestDomainObjects: 3}}, 3, 10, HarvestObjects},
		{"bytes of the harvest", harvest.Settings{LimitSettings: harvest.LimitSettings{HarvestDomainBytes: 30}}, 3, 10, HarvestBytes},
		{"both: the configuration's", harvest.Settings{LimitSettings: harvest.LimitSettings{MaxDomainObjects: 3, HarvestDomainObjects: 3}}, 3, 10, ConfigObjects},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var q Quota
			for range tt.objects {
				q.Add(tt.bytes)
			}
			v := q.Verdict(LimitsOf(&tt.settings))
			if q.Stopped() != tt.want || v.Accepted() != (tt.want == "") || tt.want != "" && (v.Status != -5003 || v.Note != "Q:"+tt.want) {
				t.Errorf("%+v, stopped by %q, want %q", v, q.Stopped(), tt.want)
			}
			back, err := ParseQuota(q.Append(nil))
			if err != nil || back != q {
				t.Errorf("%+v, %v; want %+v", back, err, q)
			}
		})
	}
}

// The limit that stopped a domain is remembered when another is reached, and forgotten when it is raised.
func TestQuotaRemembers(t *testing.T) {
	q := Quota{Objects: 5, Bytes: 10}
	s := harvest.Settings{LimitSettings: harvest.LimitSettings{HarvestDomainObjects: 5}}
	if q.Stop(LimitsOf(&s)) != HarvestObjects {
		t.Fatal(q.Stopped())
	}
	s.MaxDomainObjects = 5
	if got := q.Stop(LimitsOf(&s)); got != HarvestObjects {
		t.Errorf("%s, the harvest's limit was first", got)
	}
	s = harvest.Settings{LimitSettings: harvest.LimitSettings{HarvestDomainObjects: 6}}
	if got := q.Stop(LimitsOf(&s)); got != "" || q.Stopped() != "" {
		t.Errorf("still stopped by %s", got)
	}
}

func FuzzQuota(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4})
	f.Add([]byte{1, 5, 0x80})
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := ParseQuota(data)
		if err != nil {
			if !errors.Is(err, ErrQuota) {
				t.Fatal(err)
			}
			return
		}
		q.Stop(LimitsOf(&harvest.Settings{LimitSettings: harvest.LimitSettings{MaxDomainBytes: 1}}))
		if back, err := ParseQuota(q.Append(nil)); err != nil || back != q {
			t.Fatal(back, err)
		}
	})
}

func TestBlock(t *testing.T) {
	sc := newScope(t, harvest.DefaultSettings(), "http://www.example.org/")
	list := []string{"bad.example.org", "*.worse.example", "http://(net,example,)/a", "http://one.example/x", "h.example:8080"}
	for _, what := range list {
		if err := sc.Block(what); err != nil {
			t.Fatal(what, err)
		}
	}
	if got := sc.Blocked(); len(got) != len(list) {
		t.Errorf("%q", got)
	}
	for url, blocked := range map[string]bool{
		"http://bad.example.org/": true, "https://bad.example.org:444/x": true, "http://x.bad.example.org/": false, "http://worse.example/": true, "http://a.b.worse.example/": true,
		"http://example.net/abc": true, "https://example.net/b": false, "http://one.example/x": true, "http://one.example/xy": false, "http://h.example:8080/": true, "http://h.example/": false, "dns:bad.example.org": true,
	} {
		u := &Subject{URL: url, Path: "LP"} // prerequisites, too
		v := sc.Decide(u)
		if (v.Status == -5001) != blocked {
			t.Errorf("%s: %+v", url, v)
		}
		agrees(t, sc, u, v)
	}
	for _, what := range list {
		if err := sc.Unblock(what); err != nil {
			t.Fatal(what, err)
		}
	}
	if got := sc.Blocked(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	for _, wrong := range []string{"", "a b", "http://[", "host/path"} {
		if err := sc.Block(wrong); !errors.Is(err, harvest.ErrInvalid) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestTypes(t *testing.T) {
	tests := []struct {
		patterns []string
		in, out  []string
	}{
		{nil, nil, []string{"text/html", ""}},
		{[]string{"image/*"}, []string{"image/png", "IMAGE/JPEG; q=1"}, []string{"text/html", "image"}},
		{[]string{"!text/*"}, []string{"image/png", "", "application/pdf"}, []string{"text/html", "Text/Plain;charset=utf-8"}},
		{[]string{"*"}, []string{"image/png", ""}, nil},
		{[]string{"*", "!video/*", "video/mp4"}, []string{"image/png", "video/mp4"}, []string{"video/ogg"}},
		{[]string{"*/*xml*"}, []string{"application/xhtml+xml", "text/xml"}, []string{"text/html"}},
		{[]string{"application/*+json"}, []string{"application/ld+json"}, []string{"application/json"}},
	}
	for _, tt := range tests {
		set, err := ParseTypes(tt.patterns)
		if err != nil {
			t.Fatal(tt.patterns, err)
		}
		for _, kind := range tt.in {
			if !set.Has(kind) {
				t.Errorf("%q lacks %q", tt.patterns, kind)
			}
		}
		for _, kind := range tt.out {
			if set.Has(kind) {
				t.Errorf("%q has %q", tt.patterns, kind)
			}
		}
	}
}

func TestFilter(t *testing.T) {
	tests := []struct {
		keep, discard []string
		discardIf     string
		want          string
	}{
		{nil, nil, "", ""},
		{[]string{"application/*"}, nil, "", ""},
		{[]string{"image/*"}, nil, "", "keep_types"},
		{nil, []string{"*/pdf"}, "", "discard_types"},
		{nil, []string{"image/*"}, "", ""},
		{nil, nil, `status == 200 && size > 3000`, "discard_if"},
		{nil, nil, `size > 30000`, ""},
		{nil, nil, `1 / (status - 200) > 0`, ""},
	}
	for _, tt := range tests {
		s := harvest.DefaultSettings()
		s.KeepTypes, s.DiscardTypes, s.DiscardIf = tt.keep, tt.discard, tt.discardIf
		sc := newScope(t, s)
		keep, why := sc.KeepsType(fetched())
		if keep {
			keep, why = sc.Keep(fetched())
		}
		if why != tt.want || keep != (tt.want == "") {
			t.Errorf("%+v: %v %q", tt, keep, why)
		}
	}
	sc := newScope(t, harvest.DefaultSettings())
	if !sc.Deduplicates(fetched()) || sc.Deduplicates(&Subject{ContentType: "text/html"}) {
		t.Error("deduplicate_types")
	}
}
