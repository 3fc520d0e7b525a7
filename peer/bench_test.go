package peer

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/quic-go/quic-go"
)

const benchPiece = 1 << 20

// BenchmarkBulk copies over a bulk stream; BenchmarkBulkBare is its baseline, the same
// copy over a stream of QUIC alone.
func BenchmarkBulk(b *testing.B) {
	from, to := prepare(b, Config{}, newTestIdentity(b)), prepare(b, Config{}, newTestIdentity(b))
	for _, n := range []*testNode{from, to} {
		n.Handle("sink", Bulk, func(_ context.Context, _ ID, s net.Conn) {
			defer s.Close()
			_, _ = io.Copy(io.Discard, s)
		})
		n.begin(b)
	}
	acquaint(1, from, to)
	s, err := from.Open(within(b), to.ID(), "sink")
	if err != nil {
		b.Fatal(err)
	}
	copyAll(b, s, s.(interface{ CloseWrite() error }).CloseWrite)
	_ = s.Close()
}

func BenchmarkBulkBare(b *testing.B) {
	conn := bare(b, func(s *quic.Stream) { _, _ = io.Copy(io.Discard, s) })
	s, err := conn.OpenStreamSync(within(b))
	if err != nil {
		b.Fatal(err)
	}
	copyAll(b, s, s.Close)
}

// bare returns a connection of QUIC alone, whose other end has each stream served.
func bare(b *testing.B, serve func(s *quic.Stream)) *quic.Conn {
	id := newTestIdentity(b)
	cert, err := id.certificate()
	if err != nil {
		b.Fatal(err)
	}
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	transport := &quic.Transport{Conn: udp}
	listener, err := transport.Listen(serverTLS(cert), &quic.Config{MaxIncomingStreams: 512})
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		conn, err := listener.Accept(context.Background())
		for err == nil {
			var s *quic.Stream
			if s, err = conn.AcceptStream(context.Background()); err == nil {
				all.Go(func() {
					serve(s)
					_ = s.Close()
				})
			}
		}
	})
	conn, err := quic.DialAddr(within(b), udp.LocalAddr().String(), clientTLS(cert, id.ID()), &quic.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = conn.CloseWithError(0, "")
		_ = transport.Close()
		_ = udp.Close()
		all.Wait()
	})
	return conn
}

// copyAll sends b.N pieces and waits until the other side has read them all.
func copyAll(b *testing.B, s io.ReadWriter, closeWrite func() error) {
	piece := make([]byte, benchPiece)
	b.SetBytes(benchPiece)
	b.ResetTimer()
	for range b.N {
		if _, err := s.Write(piece); err != nil {
			b.Fatal(err)
		}
	}
	if err := closeWrite(); err != nil {
		b.Fatal(err)
	}
	if _, err := s.Read(piece); err != io.EOF {
		b.Fatalf("the other side ended with %v", err)
	}
	b.StopTimer()
}

// BenchmarkCall measures one call and its reply; BenchmarkCallBare the same bytes over
// one new stream of QUIC each.
func BenchmarkCall(b *testing.B) {
	from, to := newTestNode(b, Config{}), newTestNode(b, Config{})
	acquaint(1, from, to)
	call(b, from, to, "warm up")
	ctx := context.Background()
	b.ResetTimer()
	for range b.N {
		if _, err := from.Call(ctx, to.ID(), "echo", []byte("request")); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCallBesideBulk measures calls while a bulk copy goes the same way as fast as it can; its baseline is BenchmarkCall.
func BenchmarkCallBesideBulk(b *testing.B) {
	from, to := prepare(b, Config{}, newTestIdentity(b)), prepare(b, Config{}, newTestIdentity(b))
	for _, n := range []*testNode{from, to} {
		n.Handle("sink", Bulk, func(_ context.Context, _ ID, s net.Conn) {
			defer s.Close()
			_, _ = io.Copy(io.Discard, s)
		})
		n.begin(b)
	}
	acquaint(1, from, to)
	s, err := from.Open(within(b), to.ID(), "sink")
	if err != nil {
		b.Fatal(err)
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		for piece := make([]byte, benchPiece); err == nil; _, err = s.Write(piece) {
		}
	}()
	b.ResetTimer()
	for range b.N {
		call(b, from, to, "beside a copy")
	}
	b.StopTimer()
	_ = s.Close()
	<-copied
}

func BenchmarkCallBare(b *testing.B) {
	conn := bare(b, func(s *quic.Stream) { _, _ = io.Copy(s, s) })
	b.ResetTimer()
	for range b.N {
		s, err := conn.OpenStreamSync(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Write([]byte("request")); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadAll(s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCalls is BenchmarkCall with 64 callers at once.
func BenchmarkCalls(b *testing.B) {
	from, to := newTestNode(b, Config{}), newTestNode(b, Config{})
	acquaint(1, from, to)
	call(b, from, to, "warm up")
	ctx := context.Background()
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if _, err := from.Call(ctx, to.ID(), "echo", fmt.Appendf(nil, "%d", i)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
