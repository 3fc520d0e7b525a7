//go:build e2e

package systemtest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// readers are programs that read WARC files with tools that share no code with this project, by the tool's name. See
// the folder readers.
func readers(t *testing.T) map[string][]string {
	t.Helper()
	made, err := filepath.Abs("../bin/readers")
	check(t, err)
	all := map[string][]string{
		"warcio": {filepath.Join(made, "bin", "python"), filepath.Join("readers", "read_with_warcio.py")},
		"JWAT":   {"java", "-cp", filepath.Join(made, "classes") + ":" + filepath.Join(made, "jars", "*"), "ReadWithJWAT"},
	}
	for _, needed := range []string{all["warcio"][0], filepath.Join(made, "classes", "ReadWithJWAT.class")} {
		if _, err := os.Stat(needed); err != nil {
			t.Fatalf("%v: run make e2e, which makes the readers", err)
		}
	}
	return all
}

// readBy has a reader read the files, and look up each record by the CDX of the metadata files. The error has what it
// found fault with.
func readBy(reader, paths []string) (said string, err error) {
	out, err := exec.Command(reader[0], append(reader[1:len(reader):len(reader)], paths...)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, lastLines(out, 20))
	}
	return string(out), err
}

// readEverywhere has each reader read the files, all of a job or of many, and compares what it says that it read.
func readEverywhere(t *testing.T, paths []string, records, found int) {
	t.Helper()
	want := fmt.Sprintf("%d files, %d records, %d found by CDX", len(paths), records, found)
	for tool, reader := range readers(t) {
		if said, err := readBy(reader, paths); err != nil || strings.TrimSpace(said) != want {
			t.Errorf("%s read %q, want %q: %v", tool, said, want, err)
		}
	}
}

// readersFindFaults damages copies of a job's files in several ways, each of which each reader has to find. Without
// damage they find nothing. metadata is one of the job's files.
func readersFindFaults(t *testing.T, paths []string, metadata string) {
	t.Helper()
	first := slices.IndexFunc(paths, func(path string) bool { return path != metadata })
	for fault, damage := range map[string]func(name string, members [][]byte) [][]byte{
		"none": func(_ string, members [][]byte) [][]byte { return members },
		"a file of the job is missing": func(name string, members [][]byte) [][]byte {
			return members[:keep(name != filepath.Base(paths[first]), members)]
		},
		"the metadata file is missing": func(name string, members [][]byte) [][]byte {
			return members[:keep(name != filepath.Base(metadata), members)]
		},
		"other offsets than the CDX has": func(name string, members [][]byte) [][]byte {
			if name == filepath.Base(paths[first]) {
				return append([][]byte{members[0]}, members...)
			}
			return members
		},
		"a record with a wrong digest": func(name string, members [][]byte) [][]byte {
			if name == filepath.Base(metadata) {
				m := slices.Clone(members[1])
				m[len(m)-len("\r\n\r\n")-1] ^= 1
				return append([][]byte{members[0], m}, members[2:]...)
			}
			return members
		},
		"a record that ends early": func(name string, members [][]byte) [][]byte {
			if name == filepath.Base(metadata) {
				last := members[len(members)-1]
				return append(members[:len(members)-1:len(members)-1], last[:len(last)/2])
			}
			return members
		},
	} {
		dir := t.TempDir()
		var copies []string
		for _, path := range paths {
			members, stored, err := unpack(path)
			check(t, err)
			text, to := stored, filepath.Join(dir, filepath.Base(path))
			if after := damage(filepath.Base(path), members); len(after) == 0 {
				continue
			} else if !slices.EqualFunc(after, members, bytes.Equal) {
				text, err = pack(after)
				check(t, err)
			}
			check(t, os.WriteFile(to, text, 0o600))
			copies = append(copies, to)
		}
		for tool, reader := range readers(t) {
			if _, err := readBy(reader, copies); (err == nil) != (fault == "none") {
				t.Errorf("%s, given %s, says %v", tool, fault, err)
			}
		}
	}
}

// keep is how many members are kept: all or none.
func keep(all bool, members [][]byte) int {
	if all {
		return len(members)
	}
	return 0
}

// unpack returns the records of a WARC file, and the file as it is.
func unpack(path string) (members [][]byte, stored []byte, err error) {
	if stored, err = os.ReadFile(path); err != nil {
		return nil, nil, err
	}
	in := bytes.NewReader(stored)
	z, err := gzip.NewReader(in)
	for ; err == nil; err = z.Reset(in) {
		z.Multistream(false)
		member, err := io.ReadAll(z)
		if err != nil {
			return nil, nil, err
		}
		members = append(members, member)
	}
	if !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	return members, stored, nil
}

// pack makes a file of records, each a member.
func pack(members [][]byte) ([]byte, error) {
	var out bytes.Buffer
	for _, member := range members {
		z := gzip.NewWriter(&out)
		_, err := z.Write(member)
		if err := errors.Join(err, z.Close()); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
