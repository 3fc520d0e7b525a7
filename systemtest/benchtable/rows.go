package main

// bench is one Go benchmark of a package and the metric of it that counts.
type bench struct {
	pkg, name string
	metric    string // as the benchmark prints it: MB/s, cpu-s/op, captures/s
	times     string // -benchtime
}

// row is one line of the table: a figure, what it is compared with, and the goal.
type row struct {
	name       string
	ours, base bench
	lower      bool    // less is better, so the ratio is the baseline's figure to ours
	ratio      float64 // goal of the ratio, 0 = none
	figure     float64 // goal of our own figure, 0 = none
	unit       unit
	note       string
	needs      program // what is measured is of another program; none: ours
}

// program is one that has to be on the machine for a row to be measured.
type program struct{ command, from string }

// unit turns a metric into what the table shows.
type unit struct {
	factor float64
	text   string
}

func rows() []row {
	cpu := "processor time"
	ms := unit{1e-6, "ms"}
	seconds, perSecond := unit{1, "s"}, unit{1, "/s"}
	etcd := program{"etcd", "the Debian package etcd-server"}
	warc := func(name, b, level string, goal float64) row {
		return row{name: name, lower: true, ratio: goal, unit: ms, note: cpu,
			ours: bench{"warc", "Benchmark" + b + level, "cpu-ns/op", "1s"},
			base: bench{"warc", "Benchmark" + b + "Baseline" + level, "cpu-ns/op", "1s"}}
	}
	index := func(name, b string, goal float64) row {
		return row{name: name, figure: goal, unit: perSecond, note: "a second of one processor; baseline: bare " +
			"Badger, one key each",
			ours: bench{"index", b, "captures/cpu-s", "2x"},
			base: bench{"index", b + "Baseline", "captures/cpu-s", "2x"}}
	}
	crawl := func(name, base, metric string, lower bool, u unit, note string) row {
		return row{name: name, lower: lower, unit: u, note: note,
			ours: bench{"crawler", "BenchmarkCrawl", metric, "2x"}, base: bench{"crawler", base, metric, "2x"}}
	}
	table := func(name, of string) row {
		return row{name: name, lower: true, ratio: 0.90, unit: seconds,
			note: cpu + " of 1 000 pages; baseline: without",
			ours: bench{"crawler", "BenchmarkCrawlDomains/table=" + of, "cpu-s/1000pages", "5x"},
			base: bench{"crawler", "BenchmarkCrawlDomains/table=none", "cpu-s/1000pages", "5x"}}
	}
	return []row{
		warc("WARC write, gzip 6", "Write", "/level=0", 0.90),
		warc("WARC write, gzip 1", "Write", "/level=1", 0.90),
		warc("WARC read", "Read", "", 0.85),
		{name: "hash a stored file of 1 GiB", lower: true, ratio: 0.90, unit: seconds, note: cpu +
			"; baseline: openssl",
			ours: bench{"replica", "BenchmarkHash", "cpu-s/op", "2x"},
			base: bench{"replica", "BenchmarkHashBaseline", "cpu-s/op", "2x"}},
		{name: "copy 1 GiB node to node", ratio: 0.90, unit: unit{1, "MB/s"},
			note: "baseline: bare QUIC, hash, write, sync",
			ours: bench{"node", "BenchmarkCopy", "MB/s", "3x"}, base: bench{"peer", "BenchmarkCopyBare", "MB/s", "3x"}},
		{name: "  processor time, both ends", lower: true, unit: seconds, note: cpu + " of the same",
			ours: bench{"node", "BenchmarkCopy", "cpu-s/op", "3x"},
			base: bench{"peer", "BenchmarkCopyBare", "cpu-s/op", "3x"}},
		{name: "catalog commands, 3 nodes, 64 callers", ratio: 0.55, unit: perSecond,
			note: "baseline: bare Raft, empty state machine",
			ours: bench{"raft", "BenchmarkCatalogCommands", "commands/s", "20000x"},
			base: bench{"raft", "BenchmarkCatalogCommandsBaseline", "commands/s", "20000x"}},
		{name: "  processor time a command, all nodes", lower: true, unit: unit{1e-3, "ms"}, note: cpu + " of the same",
			ours: bench{"raft", "BenchmarkCatalogCommands", "cpu-us/command", "20000x"},
			base: bench{"raft", "BenchmarkCatalogCommandsBaseline", "cpu-us/command", "20000x"}},
		{name: "catalog commands beside etcd", ratio: 1, unit: perSecond,
			note: "baseline: puts of the same bytes into etcd, 3 processes", needs: etcd,
			ours: bench{"raft", "BenchmarkCatalogCommands", "commands/s", "20000x"},
			base: bench{"raft", "BenchmarkEtcdPuts", "commands/s", "20000x"}},
		{name: "  processor time a command, all nodes", lower: true, unit: unit{1e-3, "ms"}, note: cpu + " of the same",
			needs: etcd,
			ours:  bench{"raft", "BenchmarkCatalogCommands", "cpu-us/command", "20000x"},
			base:  bench{"raft", "BenchmarkEtcdPuts", "cpu-us/command", "20000x"}},
		index("index, sorted load of captures", "BenchmarkLoad", 200_000),
		index("index, captures of new files", "BenchmarkAdd", 40_000),
		{name: "lookup over 3 nodes, p99", lower: true, figure: 5, unit: unit{1, "ms"},
			note: "baseline: p99 of one bare QUIC call",
			ours: bench{"node", "BenchmarkLookupThreeNodes", "p99-ms", "3000x"},
			base: bench{"peer", "BenchmarkRoundTripBare", "p99-ms", "3000x"}},
		crawl("crawl 1 000 made pages beside wget", "BenchmarkCrawlWget", "pages/s", false, perSecond, "pages"),
		crawl("  processor time, 1 000 pages", "BenchmarkCrawlWget", "cpu-s/1000pages", true, seconds,
			"baseline: wget"),
		crawl("  processor time, 1 000 pages", "BenchmarkCrawlFloor", "cpu-s/1000pages", true, seconds,
			"baseline: only digests, gzip, tokenizing"),
		table("crawl for 10 000 domains with limits and traps", "domains"),
		table("crawl with 1 000 traps for all domains", "traps"),
	}
}
