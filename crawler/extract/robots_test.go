package extract

import "testing"

// What a document asks of robots counts if it is for all of them or for this crawl's, by name.
func TestRobotsByName(t *testing.T) {
	for _, tt := range []struct {
		robot, tag, body, want string
	}{
		{"holdfast", "noindex", "", "noindex"},
		{"holdfast", "Holdfast: nofollow, noarchive", "", "nofollow,noarchive"},
		{"holdfast", "otherbot: noindex, nofollow", "", ""},
		{"holdfast", "otherbot: noindex, holdfast: nofollow", "", "nofollow"},
		{"holdfast", "noindex, otherbot: nofollow", "", "noindex"},
		{"holdfast", "unavailable_after: 25 Jun 2010 15:00:00 GMT, nofollow", "", "nofollow"},
		{"holdfast", "unavailable_after: Friday, 25-Jun-10 15:00:00 GMT, nofollow", "", "nofollow"},
		{"holdfast", "max-snippet:-1, Max-Image-Preview: large, max-video-preview:-1, nofollow", "", "nofollow"},
		{"holdfast", "otherbot: max-snippet:-1, nofollow", "", ""},
		{"", ": noindex", "", ""},
		{"mybot", "", "<meta name=MyBot content='NoFollow'>", "nofollow"},
		{"mybot", "", "<meta name=holdfast content=nofollow><meta name=robots content=noindex>", "noindex"},
		{"", "", "<meta name='' content=nofollow>", ""},
	} {
		doc := Document{URL: "http://h.test/", ContentType: "text/html", Robot: tt.robot, Body: []byte(tt.body)}
		if tt.tag != "" {
			doc.RobotsTag = []string{tt.tag}
		}
		if got := New().Links(doc).Robots.String(); got != tt.want {
			t.Errorf("%q, %q %s: %q, want %q", tt.robot, tt.tag, tt.body, got, tt.want)
		}
	}
}
