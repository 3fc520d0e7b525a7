package config

import (
	"log/slog"
	"os"

	"holdfast/internal/words"
)

// Offered returns what this node offers its readers, out of all that it knows. A language that is not there is left
// out and named in the log.
func (c Config) Offered(all *words.Words, log *slog.Logger) (*words.Offer, error) {
	known, unknown := all.Known(c.Languages)
	for _, tag := range unknown {
		log.Warn("language is not offered: there is no file of it", "language", tag, "folder", c.LanguageFiles)
	}
	if len(known) == 0 {
		known = []string{"en"}
	}
	return all.Offer(known...)
}

// Texts returns all languages that the node knows: the program's, with those of its folder laid over them. A
// file of the folder that has a fault is left out and named in the log.
func (c Config) Texts(log *slog.Logger) (*words.Words, error) {
	all, err := words.Shipped()
	if err != nil || c.LanguageFiles == "" {
		return all, err
	}
	with, faults := all.Lay(os.DirFS(c.LanguageFiles))
	for _, fault := range faults {
		log.Warn("language file is left out", "folder", c.LanguageFiles, "error", fault)
	}
	return with, nil
}
