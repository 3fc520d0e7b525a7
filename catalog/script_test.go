package catalog_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdfast/catalog"
	"holdfast/internal/seed"
)

// TestScripts plays testdata/*.txt: blocks of commands, a line of four dashes, and what they answered.
// With -update the answers are written again.
func TestScripts(t *testing.T) {
	update := flag.Lookup("update").Value.String() == "true"
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			p := &player{t: t, cluster: foundCluster(t)}
			got := p.play(string(text))
			if update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("answers differ (go test -update writes them again):\n%s", got)
			}
		})
	}
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the scripts' answers again")
	os.Exit(seed.Main(m))
}

type player struct {
	*cluster
	t     *testing.T
	names []string // of nodes, for the answers
}

// play returns the script with the answers as they are now.
func (p *player) play(script string) string {
	p.names = []string{"north-1", "north-2", "south-1", "south-2", "sums-1", "sums-2", "stranger"}
	var out strings.Builder
	for _, block := range strings.Split(strings.TrimSuffix(script, "\n"), "\n\n") {
		input, _, _ := strings.Cut(block, "\n----")
		var answers []string
		for _, line := range strings.Split(input, "\n") {
			if line != "" && !strings.HasPrefix(line, "#") {
				answers = append(answers, p.line(line)...)
			}
		}
		out.WriteString(input + "\n----\n" + strings.Join(answers, "\n") + "\n\n")
	}
	return strings.TrimSuffix(p.named(out.String()), "\n")
}

// named puts nodes' names for their ids.
func (p *player) named(text string) string {
	for _, name := range p.names {
		text = strings.ReplaceAll(text, string(id(name)), name)
	}
	return text
}

func (p *player) line(line string) []string {
	word, rest, _ := strings.Cut(line, " ")
	args := strings.Fields(rest)
	switch word {
	case "join":
		p.join(p.t, args[0])
		return nil
	case "do": // do KIND JSON, in which $name is a node's id
		kind, body, _ := strings.Cut(rest, " ")
		for _, name := range p.names {
			body = strings.ReplaceAll(body, "$"+name, string(id(name)))
		}
		return p.answer(line, p.apply(p.t, catalog.Kind(kind), json.RawMessage(body)))
	case "add": // add SOURCE FILE...
		var b catalog.Additions
		for _, name := range args[1:] {
			b.Files = append(b.Files, catalog.Addition{Name: catalog.FileName(name), Size: 100, SHA256: digest(name), Collection: "web", Source: id(args[0])})
		}
		return p.answer(line, p.apply(p.t, catalog.AddFiles, b))
	case "report": // report NODE STATE FILE...
		b := catalog.CopyReports{Node: id(args[0])}
		for _, name := range args[2:] {
			r := catalog.CopyReport{Name: catalog.FileName(name), State: catalog.StoreState(args[1]), SHA256: digest(name)}
			if r.State == catalog.UploadFailed {
				r.SHA256, r.Reason = catalog.Digest{}, "connection lost"
			}
			b.Copies = append(b.Copies, r)
		}
		return p.answer(line, p.apply(p.t, catalog.ReportCopies, b))
	case "release": // release NODE FILE...
		b := catalog.Releases{Node: id(args[0])}
		for _, name := range args[1:] {
			b.Files = append(b.Files, catalog.FileName(name))
		}
		return p.answer(line, p.apply(p.t, catalog.ReleaseFiles, b))
	case "find": // find NODE FILE FILELIST CHECKSUM
		f := catalog.Finding{Name: catalog.FileName(args[1]), FileList: catalog.FileListStatus(args[2]), Checksum: catalog.ChecksumStatus(args[3])}
		if f.Checksum == catalog.ChecksumCorrupt {
			f.Found = digest("corrupt")
		}
		return p.answer(line, p.apply(p.t, catalog.FindCopies, catalog.Findings{Node: id(args[0]), Files: []catalog.Finding{f}}))
	case "source": // source NODE FILE: its bytes are wrong
		f := catalog.Finding{Name: catalog.FileName(args[1]), FileList: catalog.FileListOK, Checksum: catalog.ChecksumCorrupt, Found: digest("corrupt")}
		return p.answer(line, p.apply(p.t, catalog.FindSources, catalog.Findings{Node: id(args[0]), Files: []catalog.Finding{f}}))
	case "lose": // lose FILE VERSION NODE...: those were asked
		version, err := strconv.ParseUint(args[1], 10, 64)
		p.check(err)
		b := catalog.FileLoss{Name: catalog.FileName(args[0]), SHA256: digest(args[0]), Reason: "gone", Version: version}
		for _, name := range args[2:] {
			b.Checked = append(b.Checked, id(name))
		}
		return p.answer(line, p.apply(p.t, catalog.LoseFile, b))
	case "take": // take NODE FROM FILE: becomes its source
		b := catalog.Takeovers{Node: id(args[0]), Files: []catalog.Takeover{{Name: catalog.FileName(args[2]), SHA256: digest(args[2]), From: id(args[1]), Why: "no route"}}}
		return p.answer(line, p.apply(p.t, catalog.TakeSources, b))
	case "judge": // judge FILE REPLICA good|bad
		v := catalog.Verdict{Name: catalog.FileName(args[0]), Replica: catalog.ReplicaName(args[1]), Bad: args[2] == "bad", Votes: "2:1"}
		return p.answer(line, p.apply(p.t, catalog.JudgeCopies, catalog.Verdicts{Copies: []catalog.Verdict{v}}))
	case "remove": // remove FILE [VERSION]
		b := catalog.FileRemoval{Name: catalog.FileName(args[0]), SHA256: digest(args[0]), Reason: "asked for"}
		if len(args) > 1 {
			version, err := strconv.ParseUint(args[1], 10, 64)
			p.check(err)
			b.Version = version
		}
		return p.answer(line, p.apply(p.t, catalog.RemoveFile, b))
	case "move": // move FILE NODE: the file's shard
		shard := catalog.FileName(args[0]).Shard()
		m := member(args[1])
		return p.answer(line, p.apply(p.t, catalog.AssignShards, catalog.Assignment{Replica: m.Replica, Shards: []catalog.Shard{shard}, Node: m.ID}))
	case "switch": // switch FILE NODE
		m := member(args[1])
		shard := catalog.FileName(args[0]).Shard()
		root, err := p.view().Root(m.Replica, shard)
		p.check(err)
		if len(args) > 2 {
			root = catalog.Root{}
		}
		return p.answer(line, p.apply(p.t, catalog.SwitchShard, catalog.Switch{Replica: m.Replica, Shard: shard, Node: m.ID, Root: root}))
	case "fill": // fill REPLICA: all steps
		return p.fill(line, catalog.ReplicaName(args[0]))
	}
	return p.show(word, args)
}

func (p *player) fill(line string, replica catalog.ReplicaName) []string {
	steps := 0
	for {
		fills, err := p.view().Fills()
		p.check(err)
		if len(fills) == 0 {
			return []string{fmt.Sprintf("%s: %d steps", line, steps)}
		}
		if fills[0].Replica != replica {
			return []string{line + ": " + string(fills[0].Replica) + " is to be filled"}
		}
		p.must(p.t, catalog.FillReplica, catalog.FillStep{Replica: replica, Shard: fills[0].Shard, After: fills[0].After})
		steps++
	}
}

func (p *player) check(err error) {
	if err != nil {
		p.t.Helper()
		p.t.Fatal(err)
	}
}

// answer returns a line for each refusal, and for a value that is not of items.
func (p *player) answer(line string, res catalog.Result) []string {
	line = clipLine(line)
	if res.Refusal != nil {
		return []string{fmt.Sprintf("%s: %s: %s", line, res.Refusal.Code, res.Refusal.Message)}
	}
	var out []string
	for _, r := range items(res) {
		if r.Refusal != nil {
			out = append(out, fmt.Sprintf("%s: %s: %s", line, r.Refusal.Code, r.Refusal.Message))
		}
	}
	return out
}

func clipLine(line string) string {
	words := strings.Fields(line)
	return strings.Join(words[:min(3, len(words))], " ")
}
