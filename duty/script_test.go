package duty_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/catalog"
	"holdfast/duty"
	"holdfast/internal/kv/memory"
	"holdfast/internal/seed"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the scripts' answers again")
	if err := flag.Set("rapid.checks", "10"); err != nil { // each settles whole replicas
		panic(err)
	}
	os.Exit(seed.Main(m))
}

// TestScripts plays testdata/*.txt: blocks of lines, a line of four dashes, and what the duties answered.
// Each script begins with an empty cluster. With -update the answers are written again.
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
			got := newScript(t).play(string(text))
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

// script is a cluster that a script builds, with what its nodes know besides the catalog.
type script struct {
	*memory.Tx
	t     *testing.T
	index uint64
	level int // of the cluster
	now   time.Time
	names []string                     // of nodes
	dead  map[string]bool              //
	mute  map[string]bool              // dead for so long that others make their shards again
	free  map[string]int64             //
	heard map[catalog.NodeID]time.Time // by the leader
	saw   map[string]catalog.Time      // stamps in the future, and when they were first seen
}

func newScript(t *testing.T) *script {
	return &script{level: 1, Tx: new(memory.Tx), t: t, now: time.UnixMilli(1_000_000), dead: map[string]bool{}, mute: map[string]bool{},
		free: map[string]int64{}, heard: map[catalog.NodeID]time.Time{}, saw: map[string]catalog.Time{}}
}

// seen returns when a stamp in the future was first seen.
func (s *script) seen(name catalog.FileName, tries int, stamp catalog.Time) catalog.Time {
	key := fmt.Sprint(name, tries, stamp)
	if _, there := s.saw[key]; !there {
		s.saw[key] = s.stamp()
	}
	return s.saw[key]
}

func key(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return sum[:]
}

func id(name string) catalog.NodeID { return catalog.Fingerprint(key(name)) }

func digest(text string) catalog.Digest { return sha256.Sum256([]byte(text)) }

func (s *script) view() catalog.View { return catalog.NewView(s) }

func (s *script) alive(node catalog.NodeID) bool {
	return !slices.ContainsFunc(s.names, func(n string) bool { return id(n) == node && s.dead[n] })
}

func (s *script) check(err error) {
	if err != nil {
		s.t.Helper()
		s.t.Fatal(err)
	}
}

// apply carries out a command that is not to be refused.
func (s *script) apply(kind catalog.Kind, body any) {
	s.t.Helper()
	raw, err := json.Marshal(body)
	s.check(err)
	data, err := json.Marshal(catalog.Command{Version: 1, Kind: kind, At: catalog.At(s.now), Actor: "test", Body: raw})
	s.check(err)
	s.index++
	res, err := catalog.Apply(s, s.index, data)
	s.check(err)
	if res.Refusal != nil || strings.Contains(string(res.Value), `"refusal"`) {
		s.t.Fatalf("%s: %v %s", kind, res.Refusal, res.Value)
	}
}

func (s *script) play(text string) string {
	var out strings.Builder
	for _, block := range strings.Split(strings.TrimSuffix(text, "\n"), "\n\n") {
		input, _, _ := strings.Cut(block, "\n----")
		var answers []string
		for _, line := range strings.Split(input, "\n") {
			if line != "" && !strings.HasPrefix(line, "#") {
				answers = append(answers, s.line(line)...)
			}
		}
		out.WriteString(input + "\n----\n" + strings.Join(answers, "\n") + "\n\n")
	}
	all := out.String()
	for _, name := range s.names {
		all = strings.ReplaceAll(all, string(id(name)), name)
	}
	return strings.TrimSuffix(all, "\n")
}

// line builds the cluster, or asks for a duty.
func (s *script) line(line string) []string {
	args := strings.Fields(line)
	settings := map[string]string{}
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		settings[name] = value
	}
	switch args[0] {
	case "replica":
		s.replica(catalog.ReplicaName(args[1]), settings)
	case "node":
		s.node(args[1], settings)
	case "file":
		s.file(catalog.FileName(args[1]), settings)
	case "remove":
		s.apply(catalog.RemoveFile, catalog.FileRemoval{Name: catalog.FileName(args[1]), SHA256: digest(args[1])})
	case "job":
		s.job(settings)
	case "dead", "alive":
		s.dead[args[1]], s.mute[args[1]] = args[0] == "dead", false
	case "silent":
		s.dead[args[1]], s.mute[args[1]] = true, true
	case "drain":
		s.apply(catalog.UpdateMember, map[string]any{"id": id(args[1]), "draining": true})
	case "lose":
		s.apply(catalog.RemoveMember, catalog.MemberRemoval{ID: id(args[1]), Lost: true})
	case "pass":
		s.apply(catalog.PassShard, catalog.ShardPass{Replica: replicaOf(args[2]), Shard: catalog.FileName(args[1]).Shard(), Node: id(args[2]), Ended: catalog.At(s.now)})
	case "level2", "level5":
		s.level = int(args[0][5] - '0')
		for _, name := range s.names {
			s.apply(catalog.UpdateMember, map[string]any{"id": id(name), "level": s.level})
		}
		s.apply(catalog.RaiseLevel, catalog.LevelChange{Level: s.level})
	case "read": // read FILE NODE: its copy is right
		s.apply(catalog.FindCopies, catalog.Findings{Node: id(args[2]), Files: []catalog.Finding{{Name: catalog.FileName(args[1]),
			FileList: catalog.FileListOK, Checksum: catalog.ChecksumOK, Found: digest(args[1])}}})
	case "hear":
		s.heard[id(args[1])] = s.now
	case "wait":
		d, err := time.ParseDuration(args[1])
		s.check(err)
		s.now = s.now.Add(d)
	default:
		return s.ask(args)
	}
	return nil
}

func replicaOf(node string) catalog.ReplicaName {
	replica, _, _ := strings.Cut(node, "-")
	return catalog.ReplicaName(replica)
}

func (s *script) replica(name catalog.ReplicaName, settings map[string]string) {
	r := catalog.Replica{Name: name, Kind: catalog.Bitarchive, Place: settings["place"]}
	if _, ok := settings["checksum"]; ok {
		r.Kind = catalog.Checksum
	}
	if _, err := s.view().Cluster(); err == nil {
		s.apply(catalog.SetReplica, r)
		return
	}
	s.apply(catalog.Found, catalog.Founding{Cluster: catalog.Cluster{ID: "test", Level: 1}, Replicas: []catalog.Replica{r},
		Collections: []catalog.Collection{{Name: "web"}}, Member: s.member(string(name) + "-1")})
	s.hold(string(name) + "-1")
}

func (s *script) member(name string) catalog.Member {
	s.names = append(s.names, name)
	s.free[name] = 1000
	return catalog.Member{ID: id(name), Name: name, Key: key(name), Replica: replicaOf(name), Level: s.level}
}

// node joins a node. The first of a replica, whose name ends in -1, holds all of its shards.
func (s *script) node(name string, settings map[string]string) {
	if !slices.Contains(s.names, name) {
		token := "t" + name
		s.apply(catalog.CreateToken, catalog.JoinToken{ID: token, SecretHash: digest("x"), Replica: replicaOf(name), Expires: catalog.At(s.now.Add(time.Hour))})
		s.apply(catalog.JoinMember, catalog.Joining{Token: token, Secret: []byte("x"), Member: s.member(name)})
		if _, idle := settings["idle"]; !idle && strings.HasSuffix(name, "-1") {
			s.hold(name)
		}
	}
	if free, ok := settings["free"]; ok {
		n, err := strconv.ParseInt(free, 10, 64)
		s.check(err)
		s.free[name] = n
	}
	if weight, ok := settings["weight"]; ok {
		n, err := strconv.Atoi(weight)
		s.check(err)
		s.apply(catalog.UpdateMember, map[string]any{"id": id(name), "weight": n})
	}
}

func (s *script) hold(name string) {
	for first := 0; first < catalog.Shards; first += 512 {
		a := catalog.Assignment{Replica: replicaOf(name), Node: id(name)}
		for i := range 512 {
			a.Shards = append(a.Shards, catalog.Shard(first+i))
		}
		s.apply(catalog.AssignShards, a)
	}
}

// rooms is what gossip would say about the nodes.
func (s *script) rooms() []duty.Room {
	var out []duty.Room
	for _, name := range s.names {
		out = append(out, duty.Room{Node: id(name), Free: s.free[name], Alive: !s.dead[name], Silent: s.mute[name]})
	}
	return out
}

func (s *script) stamp() catalog.Time { return catalog.At(s.now) }

func since(now time.Time, at catalog.Time) string { return fmt.Sprint(at.Std().Sub(now)) }
