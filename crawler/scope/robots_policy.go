package scope

import "holdfast/harvest"

// Precluded reports whether robots.txt forbids a URI under the policy in effect, and by which line or setting. site
// holds the site's own rules; it may be nil if the policy does not need them.
func (s *Scope) Precluded(u *Subject, site *Robots) (precluded bool, why string) {
	c := s.effective(u)
	path := u.parts().rest
	switch c.settings.Robots {
	case harvest.RobotsIgnore:
		return false, "robots: ignore"
	case harvest.RobotsCustom:
		site = c.robots
	case harvest.RobotsSome:
		if c.some.match(path) == nil {
			return false, "robots_paths"
		}
	}
	if site == nil {
		return false, ""
	}
	allowed, line := site.Explain(path)
	return !allowed, line
}
