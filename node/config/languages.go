package config

import (
	"fmt"
	"path/filepath"

	"holdfast/internal/words"
)

// checkLanguages returns what is wrong with the languages of the file's tables, or nil. With a folder of language
// files, which may be on the nodes alone, any tag may be the name of one.
func (f *File) checkLanguages(text string) error {
	known, err := words.Shipped()
	if err != nil {
		return err
	}
	all := []Settings{f.Settings}
	for _, r := range f.Replicas {
		all = append(all, r.Settings)
	}
	for _, n := range f.Nodes {
		all = append(all, n.Settings)
	}
	folder := false
	for _, s := range all {
		if s.LanguageFiles == nil || *s.LanguageFiles == "" {
			continue
		}
		if folder = true; !filepath.IsAbs(*s.LanguageFiles) {
			return fmt.Errorf("%slanguage-files = %q: want a path from the root, as in \"/etc/holdfast/languages\"",
				at(text, "language-files", *s.LanguageFiles), *s.LanguageFiles)
		}
	}
	for _, s := range all {
		if s.Languages == nil {
			continue
		}
		for i, tag := range s.Languages {
			var ours []string // those up to this one that are part of the program
			for _, tag := range s.Languages[:i+1] {
				if !folder || known.Language(tag) != nil || !words.IsTag(tag) {
					ours = append(ours, tag)
				}
			}
			if len(ours) == 0 {
				continue
			}
			if _, err := known.Offer(ours...); err != nil {
				return fmt.Errorf("%s%w", either(at(text, "languages", tag), at(text, "languages", "")), err)
			}
		}
		if len(s.Languages) == 0 {
			_, err := known.Offer()
			return fmt.Errorf("%s%w", at(text, "languages", ""), err)
		}
	}
	return nil
}

// either returns a, or b if a is empty.
func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
