package report

import "fmt"

// StatusText explains in words a status of crawl.log that is not an HTTP status, with its number.
func StatusText(status int) string {
	text := statusText(status)
	if text == "" {
		return fmt.Sprintf("status %d", status)
	}
	return fmt.Sprintf("%s (status %d)", text, status)
}

func statusText(status int) string {
	switch status {
	case 0:
		return "it was not tried"
	case -1:
		return "its name could not be looked up"
	case -2:
		return "no connection could be made"
	case -3:
		return "the connection was lost, or the answer was not HTTP"
	case -4:
		return "the server did not answer in time"
	case -6:
		return "its host's name could not be looked up"
	case -61:
		return "its robots.txt could not be fetched"
	case -7:
		return "it is not a web URL"
	case -4001:
		return "too many hops"
	case -4002:
		return "too many embeds or redirects in a row"
	case -5000:
		return "the decide rules reject it"
	case -5001:
		return "it is blocked"
	case -5002:
		return "it has only private addresses; --allow-private allows them"
	case -5003:
		return "its domain has reached a limit"
	case -6000:
		return "it was deleted"
	case -7000:
		return "its fetch was aborted"
	case -9998:
		return "robots.txt forbids it"
	}
	return ""
}
