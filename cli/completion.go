package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completeCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"${enum}."`
}

func (completeCmd) Help() string {
	return "bash: holdfast completion bash >/etc/bash_completion.d/holdfast, or: source <(holdfast completion bash)\n" +
		"zsh:  holdfast completion zsh >\"${fpath[1]}/_holdfast\"\n" +
		"fish: holdfast completion fish >~/.config/fish/completions/holdfast.fish"
}

func (c completeCmd) Run(a *app) error {
	_, err := fmt.Fprint(a.stdout, completionScript(c.Shell))
	return err
}

// completionScript asks the program itself what may follow, so that it never falls behind the commands. Where nothing
// may follow that the program knows, the shell offers files.
func completionScript(shell string) string {
	switch shell {
	case "zsh":
		return `#compdef holdfast
_holdfast() {
  local -a found
  found=("${(@f)$(holdfast complete-words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then
    compadd -- "${found[@]}"
  else
    _files
  fi
}
compdef _holdfast holdfast
`
	case "fish":
		return `function __holdfast_words
  set -l words (commandline -opc) (commandline -ct)
  holdfast complete-words -- $words[2..-1] 2>/dev/null
end
complete -c holdfast -a '(__holdfast_words)'
`
	}
	return `_holdfast() {
  local IFS=$'\n'
  COMPREPLY=($(holdfast complete-words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _holdfast holdfast
`
}

type wordsCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words typed so far; the last one is completed."`
}

func (c wordsCmd) Run(a *app) error {
	parser, err := newParser(&grammar{})
	if err != nil {
		return err
	}
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, word := range complete(parser.Model.Node, words) {
		if _, err := fmt.Fprintln(a.stdout, word); err != nil {
			return err
		}
	}
	return nil
}

// complete returns the possible completions of the last word: commands, flags, and values of a closed list.
func complete(at *kong.Node, words []string) (out []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	done, last := words[:len(words)-1], words[len(words)-1]
	flags := at.Flags
	var open *kong.Flag // waits for its value
	given := 0          // positional arguments
	for _, word := range done {
		switch next := subcommand(at, word); {
		case open != nil:
			open = nil
		case strings.HasPrefix(word, "-"):
			if f := flagNamed(flags, word); f != nil && !f.IsBool() && !strings.Contains(word, "=") {
				open = f
			}
		case next != nil:
			at = next
			flags = append(slices.Clone(flags), at.Flags...)
		default:
			given++
		}
	}
	name, value, equals := strings.Cut(last, "=")
	switch {
	case open != nil:
		out = enumOf(open.Value)
	case equals && strings.HasPrefix(last, "--"):
		if f := flagNamed(flags, name); f != nil {
			for _, v := range enumOf(f.Value) {
				if strings.HasPrefix(v, value) {
					out = append(out, name+"="+v)
				}
			}
		}
		return out
	case strings.HasPrefix(last, "-"):
		for _, f := range flags {
			if !f.Hidden {
				out = append(out, "--"+f.Name)
			}
		}
	default:
		for _, c := range at.Children {
			if !c.Hidden {
				out = append(out, c.Name)
			}
		}
		if given < len(at.Positional) {
			out = append(out, enumOf(at.Positional[given])...)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(out, func(word string) bool { return !strings.HasPrefix(word, last) })
}

func subcommand(at *kong.Node, name string) *kong.Node {
	for _, c := range at.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func flagNamed(flags []*kong.Flag, word string) *kong.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for _, f := range flags {
		if f.Name == name || f.Short != 0 && string(f.Short) == name {
			return f
		}
	}
	return nil
}

// enumOf are the values that a flag or argument may have, where these are a closed list.
func enumOf(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	values := strings.Split(v.Enum, ",")
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	return slices.DeleteFunc(values, func(s string) bool { return s == "" })
}
