package harvests

import "holdfast/catalog/agree"

// The subject's keys, in the order of doc/format/catalog.md. All are of level 4.
const (
	PrefixChannels  = "channel/"  // <channel>: Channel
	PrefixTemplates = "template/" // <template>: Definition
	PrefixSchedules = "schedule/" // <schedule>: Definition
	PrefixTraps     = "trap/"     // <list>: Definition
	suffixTexts     = "text/"     // template, schedule or trap, this, <name>/<version>: Version, and its text
	suffixGone      = "gone/"     // template, schedule or trap, this, <name>: number of the last version
)

func keyChannel(name string) string { return PrefixChannels + name }

// KeyOfChannel is where a channel stands, for the version of what a person has seen.
func KeyOfChannel(name string) string { return keyChannel(name) }

func (k Kind) prefix() string         { return string(k) + "/" }
func (k Kind) key(name string) string { return k.prefix() + name }

func (k Kind) prefixTexts(name string) string { return string(k) + suffixTexts + name + "/" }

func (k Kind) keyText(name string, version int) string {
	return k.prefixTexts(name) + agree.HexDigits(uint64(version), 8)
}

func (k Kind) keyGone(name string) string { return string(k) + suffixGone + name }
