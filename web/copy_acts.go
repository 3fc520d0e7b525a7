package web

import (
	"context"
	"strings"

	"holdfast/api/wire"
)

// effectsOfFile say what there is of a file, and of each of its copies what was found in place of it.
func effectsOfFile(file wire.File) []said {
	good := 0
	for _, c := range file.Copies {
		if isGood(c) {
			good++
		}
	}
	out := []said{{"web.effect-file", []any{"size", size(file.Size), "count", len(file.Copies)}},
		{"web.effect-file-good", []any{"count", good}}}
	for _, c := range file.Copies {
		if c.Found != "" {
			out = append(out, said{"web.effect-copy-found", []any{"replica", c.Replica, "sum", c.Found}})
		}
	}
	return out
}

// isGood reports whether a copy counts as good: it was verified, nothing was found wrong with it, and a node has it.
func isGood(c wire.Copy) bool {
	return c.State == wire.UploadCompleted && c.Checksum != wire.ChecksumCorrupt &&
		c.FileList != wire.FileListMissing && !c.Disputed && !c.Verified.IsZero()
}

// ofCopy is the field for the replica whose copy an act is about: of those that ok takes, first the one that the link
// named.
func ofCopy(v *visit, file wire.File, ok func(wire.Copy) bool) field {
	one := field{Name: "replica", Label: "web.replica", Kind: choose, Need: true}
	for _, c := range file.Copies {
		if !ok(c) {
			continue
		}
		one.Options = append(one.Options, option{Value: c.Replica})
		if one.Value == "" || c.Replica == v.query.Get("replica") {
			one.Value = c.Replica
		}
	}
	return one
}

// askReplace wants the SHA-256 of the bad bytes typed: it shows that the person means what was found.
func askReplace(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	file, err := v.api.Files().Show(ctx, v.given["name"])
	if err != nil {
		return nil, err
	}
	f := &form{Help: "web.replace-help", Confirm: file.Name, Grave: true, Effects: effectsOfFile(file)}
	replica := ofCopy(v, file, func(c wire.Copy) bool { return c.Found != "" })
	if len(replica.Options) == 0 {
		f.Faults = append(f.Faults, formFault{Message: "web.replace-none"})
	}
	return f.add(replica, field{Name: "sha256", Label: "web.bad-sum", Need: true, Most: 64,
		Help: "web.bad-sum-help"}, reason(true)), nil
}

func replaceCopy(ctx context.Context, v *visit, f *form) (outcome, error) {
	_, err := v.api.Files().Replace(ctx, v.given["name"], wire.CopyReplacement{Replica: f.text("replica"),
		SHA256: strings.ToLower(f.text("sha256")), Reason: f.text("reason")})
	return outcome{Next: way("files", v.given["name"]), Notes: []said{{Key: "web.did-replace"}}}, err
}

func askSetChecksum(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	file, err := v.api.Files().Show(ctx, v.given["name"])
	f := &form{Help: "web.set-checksum-help", Confirm: file.Name, Grave: true, Effects: append(effectsOfFile(file),
		said{"web.effect-checksum-is", []any{"sum", file.SHA256}})}
	return f.add(field{Name: "sha256", Label: "web.right-sum", Need: true, Most: 64, Help: "web.right-sum-help"},
		field{Name: "was", Kind: hidden, Value: file.SHA256}, versioned(file.Version), reason(true)), err
}

func setChecksum(ctx context.Context, v *visit, f *form) (outcome, error) {
	in := wire.ChecksumCorrection{Was: f.text("was"), SHA256: strings.ToLower(f.text("sha256")),
		Reason: f.text("reason")}
	if n := f.version(); n != nil {
		in.Version = *n
	}
	_, err := v.api.Files().SetChecksum(ctx, v.given["name"], in)
	return outcome{Next: way("files", v.given["name"]), Notes: []said{{Key: "web.did-set-checksum"}}}, err
}

func askSetCopyState(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	file, err := v.api.Files().Show(ctx, v.given["name"])
	f := &form{Help: "web.set-state-help", Confirm: file.Name, Grave: true, Effects: effectsOfFile(file)}
	return f.add(ofCopy(v, file, func(wire.Copy) bool { return true }), field{Name: "sha256", Kind: hidden,
		Value: file.SHA256}, versioned(file.Version), reason(true)), err
}

func setCopyState(ctx context.Context, v *visit, f *form) (outcome, error) {
	in := wire.CopySetting{Replica: f.text("replica"), SHA256: f.text("sha256"), State: wire.UploadStarted,
		Reason: f.text("reason")}
	if n := f.version(); n != nil {
		in.Version = *n
	}
	_, err := v.api.Files().SetState(ctx, v.given["name"], in)
	return outcome{Next: way("files", v.given["name"]), Notes: []said{{Key: "web.did-set-state"}}}, err
}
