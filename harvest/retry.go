package harvest

import (
	"slices"
	"strconv"
)

// RetrySettings say what is asked for again that did not come, or came wrong, beside max_retries and retry_delay.
type RetrySettings struct {
	RetryAnswers     []string      `json:"retry_answers,omitzero" level:"uri" live:"yes" is:"408 425 429 500 502 503 504 520 cut" lay:"yes" since:"5" help:"The answers that are recorded and then tried again: HTTP statuses of errors, and cut for a body that was cut off or stalled. Guesses are not tried again, nor is anything at a host of which the last pages all failed in all their tries."`
	AnswerRetries    int           `json:"answer_retries,omitzero" level:"uri" live:"yes" unit:"tries" is:"3" max:"100" lay:"yes" since:"5" help:"How often one of retry_answers is tried again; the last answer counts. An answer 429 or 503 that says when to come back is tried again up to max_retries times."`
	AnswerRetryDelay Duration      `json:"answer_retry_delay,omitzero" level:"uri" live:"yes" is:"10s" max:"24h" lay:"yes" since:"5" help:"The pause before one of retry_answers is tried again; each further pause is three times as long, up to an hour."`
	SilentRetries    int           `json:"silent_retries,omitzero" level:"uri" live:"yes" unit:"tries" max:"10000" lay:"yes" since:"5" help:"How often a failed fetch is tried again at a host that never answered in this crawl; 0: as max_retries says."`
	SilentRetryDelay Duration      `json:"silent_retry_delay,omitzero" level:"uri" live:"yes" max:"720h" lay:"yes" since:"5" help:"The pause before a failed fetch is tried again at a host that never answered in this crawl; 0: as retry_delay says."`
	RobotsFailure    RobotsFailure `json:"robots_failure,omitzero" level:"uri" live:"yes" is:"keep" allowed:"keep forbid" lay:"yes" since:"5" before:"forbid" help:"What holds if a robots.txt that was known before cannot be fetched any more (no answer, 5xx, 429): keep the known rules for up to a day and ask again each hour; or forbid everything after max_retries, as RFC 9309 has it."`
}

// RobotsFailure is what holds when a robots.txt that was known before cannot be fetched any more.
type RobotsFailure string

// What holds then.
const (
	RobotsKeep   RobotsFailure = "keep"   // the rules that were known
	RobotsForbid RobotsFailure = "forbid" // nothing is fetched
)

// IsZero reports whether a job that was stored without the setting does this.
func (r RobotsFailure) IsZero() bool { return r == RobotsForbid }

// RetryCut is the word of retry_answers for bodies that were cut off or stalled.
const RetryCut = "cut"

// Retries reports whether an answer of that HTTP status is tried again; cut: its body is not whole.
func (r *RetrySettings) Retries(status int, cut bool) bool {
	return cut && slices.Contains(r.RetryAnswers, RetryCut) ||
		status >= 400 && slices.Contains(r.RetryAnswers, strconv.Itoa(status))
}

// validate checks what the tags do not say.
func (r *RetrySettings) validate() error {
	for _, a := range r.RetryAnswers {
		if n, err := strconv.Atoi(a); a != RetryCut && (err != nil || n < 400 || n > 599 || len(a) != 3) {
			return invalid("retry_answers", strconv.Quote(a), "a status from 400 to 599, or "+RetryCut)
		}
	}
	return nil
}
