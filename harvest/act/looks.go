package act

// Acts that look at a crawl. Their fields come in the query of a request. Expressions are regular expressions (RE2); a
// name, URI or line matches if a part of it does.
type (
	// Live asks for counts, rates, the slowest hosts, and what each worker does.
	Live struct{ look }

	// Explain asks which settings hold for a URI, and what each rule says to it.
	Explain struct {
		past
		URL  string `json:"url" query:"url" required:"true" minLength:"1" doc:"the URI to explain"`
		Path string `json:"path,omitempty" query:"path" doc:"explain the URI as if it had been found by these hops"`
		Via  string `json:"via,omitempty" query:"via" doc:"explain the URI as if it had been found in this page"`
	}

	// Queues lists queues.
	Queues struct {
		look
		Queue string `json:"queue,omitempty" query:"queue" format:"regex" doc:"only queues whose names match"`
		State string `json:"state,omitempty" query:"state" enum:"ready,snoozed,busy,empty,inactive,retired,frozen"`
		Sort  string `json:"sort,omitempty" query:"sort" enum:"queued,spent,name" doc:"default: queued"`
		Limit int    `json:"limit,omitempty" query:"limit" minimum:"0" maximum:"10000" doc:"at most this many"`
	}

	// Domains lists what was fetched of each registered domain.
	Domains struct {
		look
		Pattern string `json:"pattern,omitempty" query:"pattern" format:"regex" doc:"only domains that match"`
		State   string `json:"state,omitempty" query:"state" enum:"stopped" doc:"stopped: only those at a limit"`
		After   string `json:"after,omitempty" query:"after" doc:"the value of next from the previous page"`
		Limit   int    `json:"limit,omitempty" query:"limit" minimum:"0" maximum:"10000" doc:"at most this many"`
	}

	// URIs lists queued URIs.
	URIs struct {
		look
		Queue   string `json:"queue,omitempty" query:"queue" format:"regex" doc:"only queues whose names match"`
		Pattern string `json:"pattern,omitempty" query:"pattern" format:"regex" doc:"only URIs that match"`
		After   string `json:"after,omitempty" query:"after" doc:"the value of next from the previous page"`
		Limit   int    `json:"limit,omitempty" query:"limit" minimum:"0" maximum:"10000" doc:"at most this many"`
	}

	// Checkpoints lists the checkpoints.
	Checkpoints struct{ look }

	// Events tells what happened after an event.
	Events struct {
		past
		After string `json:"after,omitempty" query:"after" pattern:"^(|[0-9]{1,19})$" doc:"the number of an event"`
		Limit int    `json:"limit,omitempty" query:"limit" minimum:"0" maximum:"10000" doc:"at most this many"`
	}

	// Search looks through a log, newest lines first.
	Search struct {
		past
		Pattern string `json:"pattern,omitempty" query:"pattern" format:"regex" doc:"only lines that match"`
		Log     string `json:"log,omitempty" query:"log" doc:"the log's file name; default: crawl.log"`
		After   string `json:"after,omitempty" query:"after" pattern:"^(|[0-9]{1,18})$" doc:"next of the previous page"`
		Limit   int    `json:"limit,omitempty" query:"limit" minimum:"0" maximum:"10000" doc:"at most this many"`
	}

	// Report reads a report; without After it is written first.
	Report struct {
		past
		Pattern string `json:"pattern,omitempty" query:"pattern" format:"regex" doc:"only lines that match"`
		Name    string `json:"name" query:"name" required:"true" minLength:"1" doc:"a report's name, such as hosts"`
		After   string `json:"after,omitempty" query:"after" pattern:"^(|[0-9]{1,18})$" doc:"next of the previous page"`
		Limit   int    `json:"limit,omitempty" query:"limit" minimum:"0" maximum:"10000" doc:"at most this many"`
	}
)

// looks are the acts of this file.
func looks() []Act {
	return []Act{Live{}, Explain{}, Queues{}, Domains{}, URIs{}, Checkpoints{}, Events{}, Search{}, Report{}}
}

func (Live) Kind() Kind        { return "live" }
func (Explain) Kind() Kind     { return "explain" }
func (Queues) Kind() Kind      { return "queues" }
func (Domains) Kind() Kind     { return "domains" }
func (URIs) Kind() Kind        { return "uris" }
func (Checkpoints) Kind() Kind { return "checkpoints" }
func (Events) Kind() Kind      { return "events" }
func (Search) Kind() Kind      { return "search" }
func (Report) Kind() Kind      { return "report" }
