package config

import (
	"fmt"
	"path/filepath"
	"slices"

	"holdfast/internal/words"
)

// LanguageSettings are the Settings of the pages that readers see.
type LanguageSettings struct {
	// as in "en"; the first is for those who ask for none of them
	Languages     []string `toml:"languages"`
	LanguageFiles *string  `toml:"language-files"` // folder of language files to lay over the program's
}

// checkLanguages returns what is wrong with the languages of the file's tables, or nil. With a folder of language
// files, which may be on the nodes alone, any tag may be the name of one.
func (f *File) checkLanguages(text string) error {
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
	all = slices.DeleteFunc(all, func(s Settings) bool { return s.Languages == nil })
	if len(all) == 0 {
		return nil
	}
	known, err := words.Shipped()
	if err != nil {
		return err
	}
	for _, s := range all {
		if tag, err := badLanguage(known, s.Languages, folder); err != nil {
			return fmt.Errorf("%s%w", either(at(text, "languages", tag), at(text, "languages", "")), err)
		}
	}
	return nil
}

// badLanguage returns the first of the languages that cannot be offered, and why. A tag that the program has no
// language of may be that of a file in a folder.
func badLanguage(known *words.Words, tags []string, folder bool) (string, error) {
	if len(tags) == 0 {
		_, err := known.Offer()
		return "", err
	}
	for i, tag := range tags {
		if slices.Contains(tags[:i], tag) {
			return tag, fmt.Errorf("%w: %q is named twice", words.ErrLanguage, tag)
		}
		if folder && words.IsTag(tag) {
			continue
		}
		if _, err := known.Offer(tag); err != nil {
			return tag, err
		}
	}
	return "", nil
}

// either returns a, or b if a is empty.
func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
