package raft

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// etcdConnections is how many connections the callers of etcd share. With one for each it is slower.
const etcdConnections = 8

// BenchmarkEtcdPuts has 64 callers put what BenchmarkCatalogCommands has as commands into etcd: three processes on loopback, each
// with its synced log, asked by gRPC at their leader. The processor time is that of the three, without the callers'.
func BenchmarkEtcdPuts(b *testing.B) {
	program, err := exec.LookPath("etcd")
	if err != nil {
		b.Log("etcd is not installed on this machine: nothing to compare with")
		return
	}
	leader, used := benchEtcd(b, program)
	var callers [etcdConnections]*http.Client
	for i := range callers {
		var plain http.Protocols
		plain.SetUnencryptedHTTP2(true)
		transport := &http.Transport{Protocols: &plain}
		b.Cleanup(transport.CloseIdleConnections)
		callers[i] = &http.Client{Transport: transport, Timeout: time.Minute}
	}
	var serial atomic.Int64
	before := used()
	fanOut(b, func() error {
		i := serial.Add(1)
		body := addition("north-1", i).Body
		return etcdPut(callers[i%etcdConnections], leader, fmt.Appendf(nil, "file/%09d", i), body)
	})
	b.ReportMetric(float64((used()-before).Microseconds())/float64(b.N), "cpu-us/command")
}

// benchEtcd starts three processes. It returns the leader's address and what tells the processor time of the three.
func benchEtcd(b *testing.B, program string) (leader string, used func() time.Duration) {
	names := []string{"a", "b", "c"}
	peers, clients := benchAddresses(b, len(names)), benchAddresses(b, len(names))
	var cluster []string
	for i, name := range names {
		cluster = append(cluster, name+"="+peers[i])
	}
	var pids []int
	for i, name := range names {
		output, err := os.Create(filepath.Join(b.TempDir(), "output"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { output.Close() })
		cmd := exec.Command(program, "--name", name, "--data-dir", filepath.Join(b.TempDir(), "data"),
			"--listen-client-urls", clients[i], "--advertise-client-urls", clients[i],
			"--listen-peer-urls", peers[i], "--initial-advertise-peer-urls", peers[i],
			"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-state", "new", "--logger", "zap", "--log-level", "error")
		cmd.Stdout, cmd.Stderr = output, output
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it says that it was killed
		})
		pids = append(pids, cmd.Process.Pid)
	}
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		for _, url := range clients {
			if etcdLeads(url) {
				return url, func() (sum time.Duration) {
					for _, pid := range pids {
						sum += processorTimeOf(b, pid)
					}
					return sum
				}
			}
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			b.Fatal("none of the etcd processes leads")
		}
	}
}

// benchAddresses returns as many addresses on loopback that nobody listened at just now.
func benchAddresses(b *testing.B, n int) (urls []string) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		urls = append(urls, "http://"+l.Addr().String())
	}
	return urls
}

// etcdLeads reports whether the process at the address is the leader.
func etcdLeads(url string) bool {
	response, err := http.Post(url+"/v3/maintenance/status", "application/json", strings.NewReader("{}"))
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var status struct {
		Header struct {
			Member string `json:"member_id"`
		} `json:"header"`
		Leader string `json:"leader"`
	}
	return json.NewDecoder(response.Body).Decode(&status) == nil && status.Leader != "" && status.Leader == status.Header.Member
}

// etcdPut is one call of etcdserverpb.KV/Put.
func etcdPut(c *http.Client, url string, key, value []byte) error {
	message := appendField(nil, 1, key)
	message = appendField(message, 2, value)
	framed := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	request, err := http.NewRequest(http.MethodPost, url+"/etcdserverpb.KV/Put", bytes.NewReader(framed))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	status := response.Trailer.Get("Grpc-Status") + response.Header.Get("Grpc-Status")
	if response.StatusCode != http.StatusOK || status != "0" {
		return fmt.Errorf("put: %s, gRPC status %q: %s", response.Status, status, response.Trailer.Get("Grpc-Message"))
	}
	return nil
}

// appendField appends a field of bytes as Protocol Buffers have it.
func appendField(out []byte, number byte, value []byte) []byte {
	return append(binary.AppendUvarint(append(out, number<<3|2), uint64(len(value))), value...)
}

// processorTimeOf returns what the process has used, in steps of 10 ms.
func processorTimeOf(b *testing.B, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ")
	var ticks int64
	for _, field := range strings.Fields(after)[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
