package web

import (
	"fmt"
	"math"
	"strings"
)

// Pictures are drawn in units of their own, which the style sheet stretches: a step is stepWide, all is pictureHigh.
const (
	stepWide    = 4
	pictureHigh = 100
)

// means parts a row of values, and returns the mean of each part, of the values that are known: NaN if none is.
func means(values []*float64, parts int) []float64 {
	out := make([]float64, parts)
	for i := range out {
		sum, known := 0.0, 0
		for _, v := range values[i*len(values)/parts : (i+1)*len(values)/parts] {
			if v != nil {
				sum += *v
				known++
			}
		}
		if out[i] = math.NaN(); known > 0 {
			out[i] = sum / float64(known)
		}
	}
	return out
}

// highest returns the highest value, NaN if none is known.
func highest(values []float64) float64 {
	top := math.NaN()
	for _, v := range values {
		if !math.IsNaN(v) && !(v <= top) {
			top = v
		}
	}
	return top
}

// roof is the end of the scale for values up to top: 1, 2 or 5 with zeros.
func roof(top float64) float64 {
	if !(top > 0) || math.IsInf(top, 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(top)))
	for _, n := range []float64{1, 2, 5} {
		if top <= n*unit {
			return n * unit
		}
	}
	return 10 * unit
}

// steps draws values as steps, from 0 at the bottom to the end of the scale at the top. What is not known is a gap.
func steps(values []float64, end float64) string {
	var b strings.Builder
	drawing := false
	for i, v := range values {
		if math.IsNaN(v) {
			drawing = false
			continue
		}
		y := pictureHigh - int(math.Round(min(max(v/end, 0), 1)*pictureHigh))
		if drawing {
			fmt.Fprintf(&b, "V%d", y)
		} else {
			fmt.Fprintf(&b, "M%d %d", i*stepWide, y)
		}
		fmt.Fprintf(&b, "H%d", (i+1)*stepWide)
		drawing = true
	}
	return b.String()
}
