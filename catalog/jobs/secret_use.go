package jobs

import (
	"slices"

	"holdfast/catalog/agree"
)

// User is what uses a secret. It is the end of a key.
type User string

func userJob(id uint64) User { return User("job/" + agree.Hex(id)) }

// TemplateUser is a version of a template.
func TemplateUser(name string, version int) User {
	return User("template/" + name + "/" + agree.HexDigits(uint64(version), 8))
}

// configurationUsers is how configurations of domains begin as users of secrets.
const configurationUsers = "configuration/"

// ConfigurationUser is a configuration of a domain.
func ConfigurationUser(domain, name string) User {
	return User(configurationUsers + domain + "/" + name)
}

// ConfigurationsWith returns at most n configurations of domains that use a secret, each as domain/name.
func ConfigurationsWith(r agree.Reader, secret string, n int) ([]string, error) {
	return agree.Tails(r, prefixUsesOf(secret)+configurationUsers, "", n)
}

// KeepSecret checks and stores a new secret, and returns its id. It stays as long as something uses it. Before level 4
// a secret has one user, a job, and nothing is kept of it.
func KeepSecret(s *agree.State, x *Secret, user User) (string, error) {
	if err := checkSecret(s, x); err != nil {
		return "", err
	}
	x.Created = s.At
	if s.Cluster.Level >= LevelOfParts {
		s.Mark(keyUse(x.ID, user))
	}
	return x.ID, s.Set(keySecret(x.ID), x)
}

// ShareSecret gives a secret that is used one more user. The same again changes nothing.
func ShareSecret(s *agree.State, id string, user User) error {
	if err := agree.CheckName("secret", id); err != nil {
		return err
	}
	if there, err := agree.Has(s, keySecret(id)); err != nil || !there {
		return agree.OrNotFound(err, "no secret %q", id)
	}
	if used, err := agree.HasAny(s, prefixUsesOf(id)); err != nil || !used {
		return agree.OrConflict(err, "secret %s is of a job from before level %d: it is shared with nothing", id,
			LevelOfParts)
	}
	s.Mark(keyUse(id, user))
	return nil
}

// FreeSecret ends the use of a secret, and deletes the secret if nothing else uses it.
func FreeSecret(s *agree.State, id string, user User) error {
	if s.Cluster.Level >= LevelOfParts {
		s.Delete(keyUse(id, user))
		if used, err := agree.HasAny(s, prefixUsesOf(id)); err != nil || used {
			return err
		}
	}
	s.Delete(keySecret(id))
	return nil
}

// keepSecret stores the secret of a new job, if it has one.
func (j *Job) keepSecret(s *agree.State, x *Secret) (err error) {
	if x != nil {
		j.Secret, err = KeepSecret(s, x, userJob(j.ID))
	}
	return err
}

// useSecrets has a job that is being made use secrets that there are.
func (j *Job) useSecrets(s *agree.State, ids []string) error {
	for _, id := range ids {
		all := j.AllSecrets()
		if slices.Contains(all, id) {
			continue
		}
		if len(all) >= MaxSecrets {
			return agree.Refuse(agree.Invalid, "job %d has %d secrets already", j.ID, len(all))
		}
		if err := ShareSecret(s, id, userJob(j.ID)); err != nil {
			return err
		}
		j.Parts.Secrets = append(j.Parts.Secrets, id)
	}
	return nil
}

// freeSecrets ends the use of secrets by a job that can no longer run.
func (j *Job) freeSecrets(s *agree.State) error {
	for _, id := range j.AllSecrets() {
		if err := FreeSecret(s, id, userJob(j.ID)); err != nil {
			return err
		}
	}
	j.Secret = ""
	if j.Parts != nil {
		j.Parts.Secrets = nil
	}
	return nil
}

// passSecrets has the job that takes over use the secrets in the place of the one that was given up.
func (j *Job) passSecrets(s *agree.State, from uint64) {
	if s.Cluster.Level < LevelOfParts {
		return
	}
	for _, id := range j.AllSecrets() {
		s.Mark(keyUse(id, userJob(j.ID)))
		s.Delete(keyUse(id, userJob(from)))
	}
}
