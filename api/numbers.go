package api

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// unmarshal reads JSON in which a whole number may be written as 100, 100.0 or 1e2, as the description's "integer"
// allows.
func unmarshal(data []byte, v any) error { return json.Unmarshal(wholeNumbers(data), v) }

// wholeNumbers writes the whole numbers of a JSON text without fraction and exponent. Text that is not JSON is not
// changed.
func wholeNumbers(data []byte) []byte {
	if !bytes.ContainsAny(data, ".eE") || !json.Valid(data) {
		return data
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		end := i + 1
		switch c := data[i]; {
		case c == '"':
			for ; data[end] != '"'; end++ {
				if data[end] == '\\' {
					end++
				}
			}
			end++
			out = append(out, data[i:end]...)
		case c == '-', '0' <= c && c <= '9':
			for end < len(data) && bytes.IndexByte([]byte("+-.eE0123456789"), data[end]) >= 0 {
				end++
			}
			out = append(out, withoutFraction(data[i:end])...)
		default:
			out = append(out, c)
		}
		i = end
	}
	return out
}

// withoutFraction is a number without fraction and exponent, if it is a whole one that a float has exactly.
func withoutFraction(number []byte) []byte {
	if !bytes.ContainsAny(number, ".eE") {
		return number
	}
	f, err := strconv.ParseFloat(string(number), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return number
	}
	return strconv.AppendInt(nil, int64(f), 10)
}
