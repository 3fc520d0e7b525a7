package act

import "holdfast/harvest"

// Acts that change a crawl's course.
type (
	// Pause pauses the crawl; with For, it resumes by itself after that.
	Pause struct {
		Reason string           `json:"reason,omitempty" doc:"written into the job's log"`
		For    harvest.Duration `json:"for,omitempty" doc:"how long, such as 2h; default: until it is resumed"`
	}

	// Resume ends a pause.
	Resume struct{}

	// Stop ends the crawl; what is in flight may take For yet.
	Stop struct {
		Reason string           `json:"reason,omitempty" doc:"written into the job's log"`
		For    harvest.Duration `json:"for,omitempty" doc:"how long fetches in flight may still take, such as 30s"`
	}

	// Kill breaks off the fetch of a URL, or of a worker; the URI ends with status -7000.
	Kill struct {
		URL    string `json:"url,omitempty" doc:"the URI whose fetch is aborted"`
		Worker int    `json:"worker,omitempty" minimum:"0" doc:"the number of a worker, instead of a URI"`
	}

	// Seeds adds seeds.
	Seeds struct {
		Seeds []string `json:"seeds" minItems:"1" nullable:"false" doc:"at least one URL"`
	}

	// Change changes settings.
	Change struct {
		Settings harvest.Patch `json:"settings" minProperties:"1" doc:"at least one setting and its new value"`
	}

	// Checkpoint keeps the crawl as it stands; without a name, it is named for the time.
	Checkpoint struct {
		Name string `json:"name,omitempty" doc:"the checkpoint's name; default: the time"`
	}

	// Restore starts from a checkpoint again.
	Restore struct {
		Name string `json:"name" minLength:"1" doc:"the name of a checkpoint"`
	}
)

// courses are the acts of this file.
func courses() []Act {
	return []Act{Pause{}, Resume{}, Stop{}, Kill{}, Seeds{}, Change{}, Checkpoint{}, Restore{}}
}

func (Pause) Kind() Kind      { return "pause" }
func (Resume) Kind() Kind     { return "resume" }
func (Stop) Kind() Kind       { return "stop" }
func (Kill) Kind() Kind       { return "kill" }
func (Seeds) Kind() Kind      { return "seeds" }
func (Change) Kind() Kind     { return "change" }
func (Checkpoint) Kind() Kind { return "checkpoint" }
func (Restore) Kind() Kind    { return "restore" }

func (s Seeds) check() error { return harvest.CheckSeeds(s.Seeds) }

func (k Kill) check() error {
	if k.URL == "" && k.Worker == 0 {
		return refused("kill", "url", "nothing", "a URL, or a worker's number")
	}
	return nil
}
