// Package act has the acts on a crawl, each a struct with what it needs. Between nodes, and from older programs, an act
// comes as a harvest.Order, which has the fields of all acts side by side; Of and Order turn one into the other.
package act

import (
	"encoding/json"
	"reflect"

	"holdfast/harvest"
)

// Act is one act on a crawl: one of this package's structs.
type Act interface {
	Kind() harvest.Act // as an order has it
}

// Look is an act that changes nothing.
type Look interface {
	Act
	looks()
}

type look struct{}

func (look) looks() {}

// Acts that look at a crawl. Expressions are regular expressions (RE2).
type (
	// Live asks for counts, rates, the slowest hosts, and what each worker does.
	Live struct{ look }

	// Explain asks which settings hold for a URI, and what each rule says to it.
	Explain struct {
		look
		URL  string
		Path string // the hops it is to count as found by
		Via  string // the URI it is to count as found in
	}

	// Queues lists queues.
	Queues struct {
		look
		Queue string // an expression of their names
		State string
		Sort  string // queued, spent or name
		Limit int
	}

	// Domains lists what was fetched of each registered domain.
	Domains struct {
		look
		Pattern string // an expression of their names
		State   string // harvest.DomainsStopped: those at a limit
		After   string
		Limit   int
	}

	// URIs lists queued URIs.
	URIs struct {
		look
		Queue   string // an expression of queue names
		Pattern string // an expression of URIs
		After   string
		Limit   int
	}

	// Checkpoints lists the checkpoints.
	Checkpoints struct{ look }

	// Events tells what happened after an event.
	Events struct {
		look
		After string
		Limit int
	}

	// Search looks through a log, newest lines first.
	Search struct {
		look
		Log     string // default crawl.log
		Pattern string
		After   string
		Limit   int
	}

	// Report reads a report; without After it is written first.
	Report struct {
		look
		Name    string // which, as hosts
		Pattern string
		After   string
		Limit   int
	}
)

// Acts that change a crawl's course.
type (
	// Pause pauses the crawl; with For, it resumes by itself after that.
	Pause struct {
		Reason string
		For    harvest.Duration
	}

	// Resume ends a pause.
	Resume struct{}

	// Stop ends the crawl; what is in flight may take For yet.
	Stop struct {
		Reason string
		For    harvest.Duration
	}

	// Kill breaks off the fetch of a URL, or of a worker; the URI ends with status -7000.
	Kill struct {
		URL    string
		Worker int
	}

	// Seeds adds seeds.
	Seeds struct{ Seeds []string }

	// Change changes settings.
	Change struct{ Settings map[string]json.RawMessage }

	// Checkpoint keeps the crawl as it stands; without a name, it is named for the time.
	Checkpoint struct {
		Name string
	}

	// Restore starts from a checkpoint again.
	Restore struct {
		Name string
	}
)

// Acts that change queues and URIs.
type (
	// Delete ends queued URIs with status -6000.
	Delete struct {
		Queue   string // an expression of queue names
		Pattern string // an expression of URIs
	}

	// Freeze keeps queues from being fetched until they are thawed.
	Freeze struct {
		Queue  string // an expression that a queue's whole name matches
		Reason string
	}

	// Unfreeze lets frozen queues go on.
	Unfreeze struct {
		Queue  string
		Reason string
	}

	// Retire retires queues, as if their budget were spent.
	Retire struct {
		Queue  string
		Reason string
	}

	// Budget gives queues other budgets; retired ones come back.
	Budget struct {
		Queue   string
		Session *int64
		Total   *int64
		Reason  string
	}

	// Block asks for nothing more of a URL, a SURT prefix or a host.
	Block struct {
		URL    string
		Reason string
	}

	// Unblock ends a block.
	Unblock struct {
		URL    string
		Reason string
	}

	// Forget forgets that a URI was seen; it is taken when found again.
	Forget struct{ URL string }

	// Never ends a URI with status -5001; it is not taken again.
	Never struct{ URL string }
)

func (Live) Kind() harvest.Act        { return harvest.ActLive }
func (Explain) Kind() harvest.Act     { return harvest.ActExplain }
func (Queues) Kind() harvest.Act      { return harvest.ActQueues }
func (Domains) Kind() harvest.Act     { return harvest.ActDomains }
func (URIs) Kind() harvest.Act        { return harvest.ActURIs }
func (Checkpoints) Kind() harvest.Act { return harvest.ActCheckpoints }
func (Events) Kind() harvest.Act      { return harvest.ActEvents }
func (Search) Kind() harvest.Act      { return harvest.ActSearch }
func (Report) Kind() harvest.Act      { return harvest.ActReport }
func (Pause) Kind() harvest.Act       { return harvest.ActPause }
func (Resume) Kind() harvest.Act      { return harvest.ActResume }
func (Stop) Kind() harvest.Act        { return harvest.ActStop }
func (Kill) Kind() harvest.Act        { return harvest.ActKill }
func (Seeds) Kind() harvest.Act       { return harvest.ActSeeds }
func (Change) Kind() harvest.Act      { return harvest.ActChange }
func (Checkpoint) Kind() harvest.Act  { return harvest.ActCheckpoint }
func (Restore) Kind() harvest.Act     { return harvest.ActRestore }
func (Delete) Kind() harvest.Act      { return harvest.ActDelete }
func (Freeze) Kind() harvest.Act      { return harvest.ActFreeze }
func (Unfreeze) Kind() harvest.Act    { return harvest.ActUnfreeze }
func (Retire) Kind() harvest.Act      { return harvest.ActRetire }
func (Budget) Kind() harvest.Act      { return harvest.ActBudget }
func (Block) Kind() harvest.Act       { return harvest.ActBlock }
func (Unblock) Kind() harvest.Act     { return harvest.ActUnblock }
func (Forget) Kind() harvest.Act      { return harvest.ActForget }
func (Never) Kind() harvest.Act       { return harvest.ActNever }

// kinds are all acts.
func kinds() []Act {
	return []Act{Live{}, Explain{}, Queues{}, Domains{}, URIs{}, Checkpoints{}, Events{}, Search{}, Report{},
		Pause{}, Resume{}, Stop{}, Kill{}, Seeds{}, Change{}, Checkpoint{}, Restore{},
		Delete{}, Freeze{}, Unfreeze{}, Retire{}, Budget{}, Block{}, Unblock{}, Forget{}, Never{}}
}

// Of returns the act of an order. An order that cannot be carried out is refused with harvest.ErrInvalid.
func Of(o harvest.Order) (Act, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	for _, kind := range kinds() {
		if kind.Kind() != o.Act {
			continue
		}
		out := reflect.New(reflect.TypeOf(kind)).Elem()
		each(out, func(field reflect.Value, name string) { field.Set(reflect.ValueOf(o).FieldByName(name)) })
		given, _ := out.Interface().(Act)
		return given, nil
	}
	return nil, harvest.Refused("act", string(o.Act), "an act of this program")
}

// Order returns an act as an order, given by somebody; by is empty where the receiver knows who gives it.
func Order(a Act, by string) harvest.Order {
	o := harvest.Order{Act: a.Kind(), By: by}
	each(reflect.ValueOf(a), func(field reflect.Value, name string) {
		reflect.ValueOf(&o).Elem().FieldByName(name).Set(field)
	})
	return o
}

// each calls do with each field of an act, and its name, which it has in an order, too.
func each(act reflect.Value, do func(field reflect.Value, name string)) {
	for i := range act.NumField() {
		if f := act.Type().Field(i); !f.Anonymous {
			do(act.Field(i), f.Name)
		}
	}
}
