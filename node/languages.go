package node

import (
	"log/slog"
	"os"

	"holdfast/internal/words"
	"holdfast/node/config"
)

// languages returns what this node offers its readers, out of all that it knows. A language that is not there is left
// out and named in the log.
func languages(all *words.Words, cfg config.Config, log *slog.Logger) (*words.Offer, error) {
	known, unknown := all.Known(cfg.Languages)
	for _, tag := range unknown {
		log.Warn("language is not offered: there is no file of it", "language", tag, "folder", cfg.LanguageFiles)
	}
	if len(known) == 0 {
		known = []string{"en"}
	}
	return all.Offer(known...)
}

// texts returns all languages that the node knows: the program's, with those of its folder laid over them. A
// file of the folder that has a fault is left out and named in the log.
func texts(cfg config.Config, log *slog.Logger) (*words.Words, error) {
	all, err := words.Shipped()
	if err != nil || cfg.LanguageFiles == "" {
		return all, err
	}
	with, faults := all.Lay(os.DirFS(cfg.LanguageFiles))
	for _, fault := range faults {
		log.Warn("language file is left out", "folder", cfg.LanguageFiles, "error", fault)
	}
	return with, nil
}
