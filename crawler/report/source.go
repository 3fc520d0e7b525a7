package report

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
)

// WriteSources writes source-report.txt from a crawl.log: for each source, the hosts that were reached from it with the
// number of URIs that were answered, most first. It works in bounded memory, whatever their number: what does not fit
// is sorted in files in the folder spill, which are gone when it returns.
func WriteSources(ctx context.Context, w io.Writer, crawlLog io.Reader, spill string) error {
	return writeSources(ctx, w, crawlLog, spill, maxPairs)
}

// maxPairs is how many pairs of source and host are held in memory.
const maxPairs = 200_000

func writeSources(ctx context.Context, w io.Writer, crawlLog io.Reader, spill string, room int) (err error) {
	pairs := newTally(spill, room)
	defer func() { err = cmp.Or(err, pairs.close()) }()
	in := bufio.NewReaderSize(crawlLog, blockSize)
	for n := 0; ; n++ {
		if n%often == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, _, err := readLine(in)
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("write source report: %w", err)
		}
		if key, ok := sourceAndHost(line); ok {
			if err := pairs.add(key, 1); err != nil {
				return fmt.Errorf("write source report: %w", err)
			}
		}
	}
	ranked := newTally(spill, room)
	defer func() { err = cmp.Or(err, ranked.close()) }()
	err = pairs.each(ctx, func(key string, count int64) error {
		source, host := cutPair(key)
		rank := binary.BigEndian.AppendUint64([]byte(source+"\x00"), uint64(math.MaxInt64-count))
		return ranked.add(string(rank)+host, count)
	})
	if err != nil {
		return fmt.Errorf("write source report: %w", err)
	}
	return writeRanked(ctx, w, ranked)
}

func writeRanked(ctx context.Context, w io.Writer, ranked *tally) error {
	out := bufio.NewWriter(w)
	any := false
	var line []byte
	err := ranked.each(ctx, func(key string, count int64) error {
		if !any {
			any = true
			_, _ = out.WriteString("[source] [host] [#urls]\n")
		}
		source, rest := cutPair(key)
		line = append(append(line[:0], source...), ' ')
		line = append(append(line, rest[8:]...), ' ')
		line = append(strconv.AppendInt(line, count, 10), '\n')
		_, err := out.Write(line)
		return err
	})
	if err != nil {
		return fmt.Errorf("write source report: %w", err)
	}
	if !any {
		_, _ = out.WriteString("No source tag information. (Is 'sourceTagSeeds' enabled?)\n")
	}
	return out.Flush()
}

// sourceAndHost returns the key of a line's source and host, if the line is about a URI that was answered.
func sourceAndHost(line []byte) (key string, ok bool) {
	var cols [11][]byte
	rest := line
	for i := range cols {
		if cols[i], rest = column(rest); len(cols[i]) == 0 {
			return "", false
		}
	}
	if status, err := strconv.Atoi(string(cols[1])); err != nil || status <= 0 || string(cols[10]) == "-" {
		return "", false
	}
	return string(cols[10]) + "\x00" + hostOf(string(cols[3])), true
}

// cutPair cuts a key at its first zero byte; columns hold none.
func cutPair(key string) (source, rest string) {
	for i := range len(key) {
		if key[i] == 0 {
			return key[:i], key[i+1:]
		}
	}
	return key, ""
}
