package web

import (
	"context"

	"holdfast/api/wire"
)

// askOfFile is the form of an act on a file that cannot be undone: it says what copies there are, as far as is known.
func askOfFile(help string) func(context.Context, *visit) (*form, error) {
	return func(ctx context.Context, v *visit) (*form, error) {
		v.about = v.given["name"]
		file, err := v.api.Files().Show(ctx, v.given["name"])
		f := &form{Help: help, Confirm: file.Name, Grave: true, Effects: effectsOfFile(file)}
		return f.add(versioned(file.Version), field{Name: "sha256", Kind: hidden, Value: file.SHA256},
			reason(true)), err
	}
}

func loseFile(ctx context.Context, v *visit, f *form) (outcome, error) {
	var version uint64
	if n := f.version(); n != nil {
		version = *n
	}
	return outcome{Next: way("files", v.given["name"]), Notes: []said{{Key: "web.did-lose"}}},
		v.api.Files().Lose(ctx, v.given["name"], version, f.text("reason"))
}

func askFound(ctx context.Context, v *visit) (*form, error) {
	v.about = v.given["name"]
	file, err := v.api.Files().Show(ctx, v.given["name"])
	f := &form{Help: "web.found-help"}
	if err == nil && file.Lost.IsZero() { // the archive would take it for done
		f.Faults = []formFault{{Message: "web.not-lost"}}
	}
	return f.add(reason(true)), err
}

func findFile(ctx context.Context, v *visit, f *form) (outcome, error) {
	return outcome{Next: way("files", v.given["name"]), Notes: []said{{Key: "web.did-find"}}},
		v.api.Files().Find(ctx, v.given["name"], f.text("reason"))
}

// askRemoveFile has a place for the value by which the archive knows that what it would do was shown.
func askRemoveFile(ctx context.Context, v *visit) (*form, error) {
	f, err := askOfFile("web.file-remove-help")(ctx, v)
	return f.add(field{Name: "shown", Kind: hidden}), err
}

// removeFile removes a file after the archive has said what that does, and the form has shown it.
func removeFile(ctx context.Context, v *visit, f *form) (outcome, error) {
	removal := wire.FileRemoval{SHA256: f.text("sha256"), Reason: f.text("reason")}
	removal.Confirm = f.text("shown")
	err := v.api.Files().Remove(ctx, v.given["name"], removal)
	f.again(err)
	return outcome{Next: way("files", v.given["name"])}, err
}
