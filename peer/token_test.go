package peer

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func sampleToken(t testing.TB) Token {
	return Token{
		ID: "k7", Cluster: "kb", Replica: "south", Secret: bytes.Repeat([]byte{7}, 20),
		Expires: time.Unix(1_800_000_000, 0).UTC(),
		Addresses: []TokenAddress{
			{Address: "[2001:db8::1]:7480", Fingerprint: newTestIdentity(t).ID()},
			{Address: "archive.example:7480", Fingerprint: newTestIdentity(t).ID()},
		},
	}
}

func TestTokenSurvivesItsText(t *testing.T) {
	t.Parallel()
	want := sampleToken(t)
	got, err := ParseToken("  " + want.Encode() + "\n")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	if !bytes.Equal(got.SecretHash(), want.SecretHash()) || len(want.SecretHash()) != 32 {
		t.Error("secret hashes differ")
	}
}

func TestDamagedTokenIsMalformed(t *testing.T) {
	t.Parallel()
	good := sampleToken(t)
	text := good.Encode()
	damaged := []string{"", "holdfast", tokenPrefix, text[:len(text)-1], text + "A", strings.Repeat("x", maxTokenText+1)}
	for i := range text {
		b := []byte(text)
		if b[i]++; b[i] == 'z'+1 {
			b[i] = 'a'
		}
		damaged = append(damaged, string(b))
	}
	for _, change := range []func(*Token){
		func(k *Token) { k.ID = "" },
		func(k *Token) { k.Secret = []byte("short") },
		func(k *Token) { k.Addresses = nil },
		func(k *Token) { k.Addresses[0].Address = "no port" },
		func(k *Token) { k.Addresses[0].Fingerprint = "ABC" },
	} {
		bad := good
		bad.Addresses = append([]TokenAddress(nil), good.Addresses...)
		change(&bad)
		damaged = append(damaged, bad.Encode())
	}
	for _, text := range damaged {
		if got, err := ParseToken(text); !errors.Is(err, ErrMalformedToken) {
			t.Errorf("ParseToken(%q) = %+v, %v", clip(text), got, err)
		}
	}
}

func FuzzToken(f *testing.F) {
	f.Add(sampleToken(f).Encode())
	f.Add(tokenPrefix + "AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err != nil {
			return
		}
		again, err := ParseToken(token.Encode())
		if err != nil || !reflect.DeepEqual(again, token) {
			t.Fatalf("%+v became %+v, %v", token, again, err)
		}
	})
}

func FuzzHello(f *testing.F) {
	f.Add(hello{version: 1, class: Bulk, epoch: 3, clock: time.UnixMicro(5), boot: 9, cluster: "kb"}.encode())
	f.Add(answer{refusal: Removed, epoch: 3, clock: time.UnixMicro(5), reason: "gone"}.encode())
	f.Add(encodeMeta(metaRetire, 12))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := parseHello(data); err == nil {
			if again, err := parseHello(h.encode()); err != nil || again != h {
				t.Errorf("hello %+v became %+v, %v", h, again, err)
			}
		}
		if a, err := parseAnswer(data); err == nil {
			if again, err := parseAnswer(a.encode()); err != nil || again != a {
				t.Errorf("answer %+v became %+v, %v", a, again, err)
			}
		}
		if kind, n, err := parseMeta(data); err == nil {
			if kind2, n2, err := parseMeta(encodeMeta(kind, n)); err != nil || kind2 != kind || n2 != n {
				t.Errorf("meta %d %d became %d %d, %v", kind, n, kind2, n2, err)
			}
		}
	})
}

func FuzzFrame(f *testing.F) {
	var whole bytes.Buffer
	if err := writeReply(&whole, []byte("fine"), nil, 100); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	whole.Reset()
	if err := writeReply(&whole, nil, ErrTokenUsed, 100); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		if frame, err := readFrame(bytes.NewReader(data), 1<<20); err == nil {
			var back bytes.Buffer
			if err := writeFrame(&back, frame); err != nil || !bytes.HasPrefix(data, back.Bytes()) {
				t.Errorf("frame %x became %x, %v", data, back.Bytes(), err)
			}
		}
		reply, err := readReply(bytes.NewReader(data), 1<<20)
		if err == nil && len(reply) > len(data) {
			t.Errorf("reply of %d bytes from %d", len(reply), len(data))
		}
	})
}
