package act

// Acts that change queues and URIs. The queues of an act are those whose whole name matches its regular expression
// (RE2).
type (
	// Delete ends queued URIs with status -6000.
	Delete struct {
		Queue   string `json:"queue,omitempty" format:"regex" doc:"only in queues whose whole name matches"`
		Pattern string `json:"pattern,omitempty" format:"regex" doc:"only URIs that contain a match"`
	}

	// Freeze keeps queues from being fetched until they are thawed.
	Freeze struct {
		Reason string `json:"reason,omitempty" doc:"written into the job's log"`
		Queue  string `json:"queue" minLength:"1" format:"regex" doc:"a regular expression for whole names of queues"`
	}

	// Unfreeze lets frozen queues go on.
	Unfreeze struct {
		Reason string `json:"reason,omitempty" doc:"written into the job's log"`
		Queue  string `json:"queue" minLength:"1" format:"regex" doc:"a regular expression for whole names of queues"`
	}

	// Retire retires queues, as if their budget were spent.
	Retire struct {
		Reason string `json:"reason,omitempty" doc:"written into the job's log"`
		Queue  string `json:"queue" minLength:"1" format:"regex" doc:"a regular expression for whole names of queues"`
	}

	// Budget gives queues other budgets; retired ones come back.
	Budget struct {
		Reason  string `json:"reason,omitempty" doc:"written into the job's log"`
		Queue   string `json:"queue" minLength:"1" format:"regex" doc:"a regular expression for whole names of queues"`
		Session *int64 `json:"session_budget,omitempty" doc:"the cost after which it makes way; 0 is no limit"`
		Total   *int64 `json:"total_budget,omitempty" doc:"the cost after which it is retired; 0 is no limit"`
	}

	// Block asks for nothing more of a URL, a SURT prefix or a host.
	Block struct {
		Reason string `json:"reason,omitempty" doc:"written into the job's log"`
		URL    string `json:"url" minLength:"1" doc:"a URL, a SURT prefix or a host"`
	}

	// Unblock ends a block.
	Unblock struct {
		Reason string `json:"reason,omitempty" doc:"written into the job's log"`
		URL    string `json:"url" minLength:"1" doc:"the URL, SURT prefix or host that was blocked"`
	}

	// Forget forgets that a URI was seen; it is taken when found again.
	Forget struct {
		URL string `json:"url" minLength:"1" doc:"the URI to forget"`
	}

	// Never ends a URI with status -5001; it is not taken again.
	Never struct {
		URL string `json:"url" minLength:"1" doc:"the URI never to fetch"`
	}
)

// queueing are the acts of this file.
func queueing() []Act {
	return []Act{Delete{}, Freeze{}, Unfreeze{}, Retire{}, Budget{}, Block{}, Unblock{}, Forget{}, Never{}}
}

func (Delete) Kind() Kind   { return "delete" }
func (Freeze) Kind() Kind   { return "freeze" }
func (Unfreeze) Kind() Kind { return "unfreeze" }
func (Retire) Kind() Kind   { return "retire" }
func (Budget) Kind() Kind   { return "budget" }
func (Block) Kind() Kind    { return "block" }
func (Unblock) Kind() Kind  { return "unblock" }
func (Forget) Kind() Kind   { return "forget" }
func (Never) Kind() Kind    { return "never" }

func (d Delete) check() error {
	if d.Queue == "" && d.Pattern == "" {
		return refused("delete", "pattern", "nothing", "a regular expression for URIs, or one for queues")
	}
	return nil
}
