package wire

import "time"

// NodeFigures are a few figures of a node over time.
type NodeFigures struct {
	Node   string         `json:"node"`
	Name   string         `json:"name"`
	Span   string         `json:"span" enum:"hour,week"`
	From   time.Time      `json:"from" doc:"when the step of the first values begins"`
	Step   int            `json:"stepSeconds" doc:"seconds from one value to the next"`
	Series []FigureSeries `json:"series"`
}

// FigureSeries is one figure over time.
type FigureSeries struct {
	Name   string     `json:"name" doc:"what it is, such as cpu, memory or disk-free; later programs may have others"`
	Of     string     `json:"of,omitempty" doc:"what it is of: the folder of a disk"`
	Unit   string     `json:"unit" doc:"such as bytes or bytes/s"`
	Values []*float64 `json:"values" doc:"the mean of each step; null where it is not known, as while the node did not run"`
}
