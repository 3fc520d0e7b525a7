package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

const signaturesTitle = "# holdfast-ledger-signatures 1"

// Signature is one node's signature of one file of a ledger, by its Ed25519 key.
type Signature struct {
	Signer string // the node's id: the fingerprint of Key
	Key    ed25519.PublicKey
	File   // the file that was signed, all of its bytes
	Bytes  []byte
}

// Fingerprint returns the id of the node that has the key: the SHA-256 of its 32 bytes in base32, small letters.
func Fingerprint(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// Sign signs a file of a ledger.
func Sign(key ed25519.PrivateKey, name string, text []byte) Signature {
	public := key.Public().(ed25519.PublicKey)
	return Signature{Signer: Fingerprint(public), Key: public, File: File{Name: name, SHA256: sha256.Sum256(text)},
		Bytes: ed25519.Sign(key, text)}
}

// Verify says what is wrong with the signature as one of the text.
func (s *Signature) Verify(text []byte) error {
	switch {
	case len(s.Key) != ed25519.PublicKeySize || Fingerprint(s.Key) != s.Signer:
		return fmt.Errorf("the key is not that of %s", clip(s.Signer))
	case s.SHA256 != sha256.Sum256(text):
		return fmt.Errorf("%s signed other bytes under the name %s", s.Signer, s.Name)
	case !ed25519.Verify(s.Key, text, s.Bytes):
		return fmt.Errorf("the signature of %s by %s is wrong", s.Name, s.Signer)
	}
	return nil
}

// Signatures are what was signed of a ledger, and who did not sign.
type Signatures struct {
	Base   string
	Signed []Signature
	Unsaid []Refusal // nodes that were asked to countersign and did not, for people; nobody has signed these lines
}

// Refusal is why a node has not signed.
type Refusal struct{ Signer, Reason string }

// Encode returns the text of the signatures.
func (s *Signatures) Encode() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n# name %s\n", signaturesTitle, SignaturesName(s.Base))
	for _, one := range s.Signed {
		der, err := x509.MarshalPKIXPublicKey(one.Key)
		if err != nil {
			return nil, fmt.Errorf("encode the key of %s: %w", one.Signer, err)
		}
		fmt.Fprintf(&b, "# signer %s\n%s  %s\n", one.Signer, one.SHA256, one.Name)
		b.Write(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		fmt.Fprintf(&b, "# signature %s\n", base64.StdEncoding.EncodeToString(one.Bytes))
	}
	for _, r := range s.Unsaid {
		reason := strings.Join(strings.Fields(r.Reason), " ")
		fmt.Fprintf(&b, "# unsigned %s %s\n", r.Signer, reason[:min(len(reason), maxLine/2)])
	}
	fmt.Fprintf(&b, "# end %d\n", len(s.Signed))
	return b.Bytes(), nil
}

// ParseSignatures reads the signatures that were found under the name. None is verified yet.
func ParseSignatures(file string, in io.Reader) (*Signatures, error) {
	l := newLines(file, in)
	if title, err := l.take(); err != nil || title != signaturesTitle {
		return nil, orWrong(err, l, "%q is not %q", clip(title), signaturesTitle)
	}
	var name string
	if err := l.words("name", &name); err != nil {
		return nil, err
	}
	s := &Signatures{Base: strings.TrimSuffix(name, "-signatures.txt")}
	if name != file || name != SignaturesName(s.Base) {
		return nil, wrong(file, "it is %s, in the place of another", clip(name))
	}
	for {
		more, err := l.begins("signer")
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		one, err := l.signature()
		if err != nil {
			return nil, err
		}
		s.Signed = append(s.Signed, one)
	}
	for {
		more, err := l.begins("unsigned")
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		text, err := l.value("unsigned")
		if err != nil {
			return nil, err
		}
		signer, reason, _ := strings.Cut(text, " ")
		s.Unsaid = append(s.Unsaid, Refusal{signer, reason})
	}
	if err := l.end(int64(len(s.Signed))); err != nil {
		return nil, err
	}
	return s, l.over()
}

func (l *lines) signature() (s Signature, err error) {
	if err := l.words("signer", &s.Signer); err != nil {
		return s, err
	}
	if s.SHA256, s.Name, err = l.summed(); err != nil {
		return s, err
	}
	var key bytes.Buffer
	for range 5 { // a PEM of an Ed25519 key has three lines
		text, err := l.take()
		if err != nil {
			return s, err
		}
		key.WriteString(text + "\n")
		if strings.HasPrefix(text, "-----END") {
			break
		}
	}
	block, rest := pem.Decode(key.Bytes())
	if block == nil || len(rest) > 0 {
		return s, l.wrong("the key of %s is no PEM", clip(s.Signer))
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return s, l.because(err)
	}
	var ok bool
	if s.Key, ok = public.(ed25519.PublicKey); !ok {
		return s, l.wrong("the key of %s is no Ed25519 key", clip(s.Signer))
	}
	text, err := l.value("signature")
	if err != nil {
		return s, err
	}
	if s.Bytes, err = base64.StdEncoding.DecodeString(text); err != nil {
		return s, l.because(err)
	}
	return s, nil
}

// Trusted is a node whose signatures count for who checks.
type Trusted struct {
	ID    string
	Name  string
	Place string // empty: not known
}

// ParseTrusted reads a list of nodes: a line each, with the id, the name and the place, separated by tabs; what stands
// behind the id may be left out. Lines that begin with # and empty ones are passed over.
func ParseTrusted(file string, in io.Reader) ([]Trusted, error) {
	l := newLines(file, in)
	var out []Trusted
	for {
		text, err := l.peek()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		l.have = false
		if text = strings.TrimSpace(text); text == "" || text[0] == '#' {
			continue
		}
		words := append(strings.Split(text, "\t"), "", "")
		t := Trusted{ID: strings.TrimSpace(words[0]), Name: words[1], Place: words[2]}
		if raw,
			err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(t.ID)); err != nil ||
			len(raw) != sha256.Size || t.ID != strings.ToLower(t.ID) {
			return nil, l.wrong("%q is not the id of a node: 52 small letters and digits", clip(t.ID))
		}
		out = append(out, t)
	}
}

// Judge verifies the signatures of a ledger: the head's and its pages' texts by their names. Each page has to be signed
// by its holder, each signer has to be trusted, and at least witnesses trusted nodes that hold nothing of the ledger,
// and stand at another place as far as that is known, have to have signed the head. Where a node stands is what the
// list of trusted nodes says; what the head says of its own place only narrows who counts. It returns all faults, and
// who countersigned.
func (s *Signatures) Judge(h *Head, texts map[string][]byte, trusted []Trusted, witnesses int) (signed []string,
	faults []error) {
	file := SignaturesName(s.Base)
	if s.Base != h.Base {
		return nil, []error{wrong(file, "it is about the ledger %s", HeadName(s.Base))}
	}
	holders := map[string]bool{}
	own := map[string]bool{h.Place: true} // places of the ledger
	for _, sheet := range h.Sheets {
		holders[sheet.Holder] = true
		for _, t := range trusted {
			if t.ID == sheet.Holder {
				own[t.Place] = true
			}
		}
	}
	good := map[[2]string]bool{} // signer and file
	for i := range s.Signed {
		one := &s.Signed[i]
		text, known := texts[one.Name]
		at := slices.IndexFunc(trusted, func(t Trusted) bool { return t.ID == one.Signer })
		err := error(nil)
		switch {
		case !known:
			err = fmt.Errorf("%s is no head or page of this ledger", one.Name)
		case at < 0:
			err = fmt.Errorf("%s was signed by a stranger, %s", one.Name, one.Signer)
		default:
			err = one.Verify(text)
		}
		if err != nil {
			faults = append(faults, wrong(file, "%v", err))
			continue
		}
		elsewhere := trusted[at].Place == "" || !own[trusted[at].Place]
		if one.Name == HeadName(h.Base) && !holders[one.Signer] && elsewhere && !good[[2]string{one.Signer, one.Name}] {
			signed = append(signed, one.Signer)
		}
		good[[2]string{one.Signer, one.Name}] = true
	}
	headSigned := false
	for _, sheet := range h.Sheets {
		if !good[[2]string{sheet.Holder, sheet.File.Name}] {
			faults = append(faults, wrong(sheet.File.Name, "its holder %s has not signed it", sheet.Holder))
		}
		headSigned = headSigned || good[[2]string{sheet.Holder, HeadName(h.Base)}]
	}
	if !headSigned {
		faults = append(faults, wrong(HeadName(h.Base), "no holder has signed it"))
	}
	if len(signed) < witnesses {
		faults = append(faults, wrong(HeadName(h.Base), "%d nodes at other places have countersigned it, %d are "+
			"asked for",
			len(signed), witnesses))
	}
	return signed, faults
}
