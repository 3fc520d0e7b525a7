package runs

import (
	"unicode/utf8"

	"holdfast/catalog/agree"
)

// maxSettings bounds the text of the settings of splitting.
const maxSettings = 128 << 10

// Settings say how harvests are split into jobs, as text.
type Settings struct {
	Version uint64     `json:"version"`
	Text    string     `json:"text"` // JSON that the catalog does not read
	Changed agree.Time `json:"changed"`
}

// SettingsChange replaces the settings of splitting. Version is the one that there is, 0 for none.
type SettingsChange struct {
	Version uint64 `json:"version,omitempty"`
	Text    string `json:"text"`
}

func setSettings(s *agree.State, b *SettingsChange) (any, error) {
	if len(b.Text) > maxSettings || !utf8.ValidString(b.Text) {
		return nil, agree.Refuse(agree.Invalid, "settings of %d bytes: want at most %d, of UTF-8", len(b.Text),
			maxSettings)
	}
	old, _, err := agree.Get[Settings](s, keySettings)
	if err != nil {
		return nil, err
	}
	if old.Version != b.Version {
		return nil, agree.Refuse(agree.Conflict, "the settings of harvests were changed meanwhile: they have "+
			"version %d", old.Version)
	}
	now := Settings{Version: old.Version + 1, Text: b.Text, Changed: s.At}
	if err := s.Set(keySettings, now); err != nil {
		return nil, err
	}
	return &now, s.Event(SetSettings, "harvests", "version=%d", now.Version)
}

// SplitSettings returns the settings of splitting. Where nothing was said the text is empty and the version 0.
func (v View) SplitSettings() (text string, version uint64, err error) {
	s, _, err := agree.Get[Settings](v.Reader, keySettings)
	return s.Text, s.Version, err
}
