package plan

import (
	"holdfast/cdx"
	"holdfast/crawler/fetch"
)

// Seeds are seeds in normal form, and those that are no URLs of the web.
func Seeds(given []string) (seeds, bad []string) {
	for _, seed := range given {
		url, err := cdx.Normalize(seed)
		if err == nil {
			_, err = fetch.ParseTarget(url)
		}
		if err != nil {
			bad = append(bad, seed)
			continue
		}
		seeds = append(seeds, url)
	}
	return seeds, bad
}
