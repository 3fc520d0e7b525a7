package scope

import (
	"fmt"
	"strconv"
	"strings"

	"holdfast/harvest"
	"holdfast/harvest/domain"
)

// Numbers of rules for which none is given: Heritrix's.
const (
	defaultHops        = 20
	defaultTrans       = 2
	defaultSegments    = 20
	defaultRepetitions = 2
)

func or(n *int64, otherwise int64) int64 {
	if n == nil {
		return otherwise
	}
	return *n
}

func hopRules() []definition {
	return []definition{
		{name: "too_many_hops", decision: Reject, max: "most hops (default 20)",
			values: "letters of the hops that count (default: all)", optional: true,
			help: "More than max hops lead from the seed to the URI.", build: tooManyHops},
		{name: "transclusion", decision: Accept, max: "most embeds in a row (default 2)",
			min: "most speculative hops among them (default 1)",
			help: "The path ends with embeds or redirects: at most max hops, redirects not counted, and at most min " +
				"speculative ones (X), since the last link (L, S or M).", build: transclusion},
		{name: "hops_path_matches_regex", opposite: "hops_path_not_matches_regex", values: "expressions",
			help:  "The path of hops, as LLE, matches one of these expressions as a whole.",
			build: matching(func(u *Subject) string { return u.Path }, "hops ", needsNothing)},
		{name: "hop_crosses_assignment_level_domain",
			help:  "The URI is on another registered domain than the one it was found at.",
			build: crossesDomain},
	}
}

func tooManyHops(r harvest.Rule) (test, error) {
	letters := strings.Join(r.Values, "")
	for _, c := range letters {
		if !strings.ContainsRune("RELXPIMS", c) {
			return test{}, given("values", strconv.Quote(string(c)), "R, E, X, L, P, I, M or S")
		}
	}
	most := int(or(r.Max, defaultHops))
	number := func(u *Subject) (n int) {
		if letters == "" {
			return len(u.Path)
		}
		for i := range len(u.Path) {
			if strings.IndexByte(letters, u.Path[i]) >= 0 {
				n++
			}
		}
		return n
	}
	return test{
		holds: func(u *Subject) bool { return number(u) > most },
		fact:  func(u *Subject) string { return fmt.Sprintf("%s, at most %d", count(number(u), "hop"), most) },
	}, nil
}

func transclusion(r harvest.Rule) (test, error) {
	return transcluded(int(or(r.Max, defaultTrans)), int(or(r.Min, 1))), nil
}

func transcluded(most, guesses int) test {
	return test{
		holds: func(u *Subject) bool {
			h := u.hop()
			return h.chain > 0 && h.trans <= most && h.guess <= guesses
		},
		fact: func(u *Subject) string {
			h := u.hop()
			if h.chain == 0 {
				return "found by a link, not embedded"
			}
			return fmt.Sprintf("%s since the last link, at most %d; %d of them speculative, at most %d",
				count(h.trans, "embed"), most, h.guess, guesses)
		},
	}
}

func crossesDomain(harvest.Rule) (test, error) {
	return test{
		holds: func(u *Subject) bool { return u.Via != "" && u.Domain() != domain.Of(u.viaParts().host) },
		fact: func(u *Subject) string {
			if u.Via == "" {
				return "a seed"
			}
			return "from " + domain.Of(u.viaParts().host) + " to " + u.Domain()
		},
	}, nil
}

func pathRules() []definition {
	return []definition{
		{name: "too_many_path_segments", decision: Reject, max: "most segments (default 20)",
			help:  "The path has more than max slashes.",
			build: func(r harvest.Rule) (test, error) { return tooManySegments(int(or(r.Max, defaultSegments))), nil }},
		{name: "pathological_path", decision: Reject, max: "most repetitions (default 2)",
			help: "After a slash, a group of segments is followed by itself max times or more: with 2, /a/a/a/ and " +
				"/a/b/a/b/a/b/.",
			build: func(r harvest.Rule) (test, error) {
				most := or(r.Max, defaultRepetitions)
				if most == 0 {
					return test{}, given("max", "0", "1 or more")
				}
				return pathological(int(most)), nil
			}},
	}
}

func tooManySegments(most int) test {
	return test{
		holds: func(u *Subject) bool { return segments(u.parts().path) > most },
		fact: func(u *Subject) string {
			return fmt.Sprintf("path has %s, at most %d", count(segments(u.parts().path), "segment"), most)
		},
	}
}

func pathological(most int) test {
	return test{
		holds: func(u *Subject) bool { group, _ := repeated(u.URL, most); return group != "" },
		fact: func(u *Subject) string {
			if group, times := repeated(u.URL, most); group != "" {
				return fmt.Sprintf("%q comes %d times in a row, at most %d", group, times, most)
			}
			return fmt.Sprintf("nothing comes more than %d times in a row", most)
		},
	}
}

func textRules() []definition {
	uri := func(u *Subject) string { return u.URL }
	return []definition{
		{name: "matches_regex", opposite: "not_matches_regex", values: "expressions",
			help:  "The URI matches one of these expressions as a whole.",
			build: matching(uri, "", needsNothing)},
		{name: "matches_list_regex", opposite: "not_matches_list_regex", values: "expressions", optional: true,
			min: "how many have to match (default 1)",
			help: "The URI matches at least min of these expressions as a whole; as many as there are: " +
				"all.",
			build: matching(uri, "", needsNothing)},
		{name: "matches_file_pattern", opposite: "not_matches_file_pattern",
			values: "images, audio, video, misc, all or custom (default all)", optional: true,
			express: "an expression, for custom", help: "The URI ends with one of these kinds' file names; with " +
				"custom, it matches the expression.", build: filePattern},
	}
}

// matching makes tests of whether a text matches expressions.
func matching(text func(*Subject) string, what string, needs need) func(harvest.Rule) (test, error) {
	return func(r harvest.Rule) (test, error) {
		list, err := compilePatterns(r.Values)
		if err != nil {
			return test{}, given("values", err.Error(), "regular expressions (RE2)")
		}
		least := int(or(r.Min, 1))
		switch {
		case least == 0:
			return test{}, given("min", "0", "1 or more")
		case r.Min != nil && least > len(list):
			return test{}, given("min", strconv.Itoa(least), "at most as many as there are expressions")
		}
		return test{
			needs: needs,
			holds: func(u *Subject) bool { return list.atLeast(least, text(u)) },
			fact: func(u *Subject) string {
				if least > 1 {
					return fmt.Sprintf("%s%q matches %d of %s, at least %d asked for", what, text(u),
						list.count(text(u)), count(len(list), "expression"), least)
				}
				if p := list.first(text(u)); p != nil {
					return fmt.Sprintf("%s%q matches %s", what, text(u), p.text)
				}
				return fmt.Sprintf("%s%q matches none of %s", what, text(u), count(len(list), "expression"))
			},
		}, nil
	}
}

// presets are Heritrix's kinds of files, by extension.
func presets(name string) (list string, ok bool) {
	const (
		images = "bmp gif jpg jpeg png svg tif tiff"
		audio  = "aac aif aiff m3u m4a mid midi mp2 mp3 mp4 mpa ogg ra ram wav wma"
		video  = "asf asx avi flv mov mp4 mpeg mpg qt ram rm smil wmv"
		misc   = "doc pdf ppt swf"
	)
	list, ok = map[string]string{
		"images": images, "audio": audio, "video": video, "misc": misc,
		"all": images + " " + audio + " " + video + " " + misc, "custom": "",
	}[name]
	return list, ok
}

func filePattern(r harvest.Rule) (test, error) {
	kinds := r.Values
	if len(kinds) == 0 && r.Expression == "" {
		kinds = []string{"all"}
	}
	extensions := map[string]struct{}{}
	for _, k := range kinds {
		list, ok := presets(k)
		if !ok {
			return test{}, given("values", strconv.Quote(k), "images, audio, video, misc, all or custom")
		}
		for _, e := range strings.Fields(list) {
			extensions[e] = struct{}{}
		}
	}
	var custom *pattern
	if r.Expression != "" {
		var err error
		if custom, err = compilePattern(r.Expression); err != nil {
			return test{}, given("expression", strconv.Quote(r.Expression), "a regular expression (RE2): "+err.Error())
		}
	}
	holds := func(u *Subject) bool {
		var b [8]byte
		if _, ok := extensions[string(fileExtension(u.URL, &b))]; ok {
			return true
		}
		return custom != nil && custom.matches(u.URL)
	}
	return test{holds: holds, fact: func(u *Subject) string {
		if holds(u) {
			return "the name of a file of " + strings.Join(append(kinds, r.Expression), " ")
		}
		return "no name of a file of " + strings.Join(append(kinds, r.Expression), " ")
	}}, nil
}
