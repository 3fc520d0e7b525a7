package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"holdfast/api/wire"
	"holdfast/catalog"
	defined "holdfast/catalog/harvests"
	agreed "holdfast/catalog/jobs"
	"holdfast/harvest"
)

// oneCommand is how many bytes the text of a job may have that goes into the catalog by one command.
const oneCommand = 128 << 10

// seedsShown is how many seeds of a job are shown.
const seedsShown = 10_000

func (s jobs) createJob(ctx context.Context, in wire.JobRequest) (wire.Job, error) {
	spec := harvest.Job{Name: in.Name, Seeds: in.Seeds, Settings: harvest.DefaultSettings()}
	if in.Settings != nil {
		spec.Settings = in.Settings.Settings
	}
	if err := s.addGlobalTraps(&spec.Settings); err != nil {
		return wire.Job{}, err
	}
	if err := errors.Join(harvest.CheckSeeds(spec.Seeds), spec.Validate(), s.crawls.Check(spec)); err != nil {
		return wire.Job{}, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
	}
	if err := mayReach(callerOf(ctx).Rights, spec.Settings); err != nil {
		return wire.Job{}, err
	}
	if in.Channel != "" {
		if err := s.mustHaveChannel(in.Channel); err != nil {
			return wire.Job{}, err
		}
	}
	open, secret, err := s.secrets.Seal(spec)
	if err != nil {
		return wire.Job{}, err
	}
	asked := catalog.JobCreation{Harvest: in.Harvest, Collection: catalog.CollectionName(in.Collection),
		Channel: in.Channel, Submit: true, Secret: secret}
	if asked.Harvest == "" {
		asked.Harvest = in.Name
	}
	made, err := s.proposeJob(ctx, asked, open)
	if err != nil {
		return wire.Job{}, err
	}
	job := jobOf(made, nil)
	job.Seeds = append(job.Seeds[:0], open.Seeds...)
	job.Settings = &wire.Settings{Settings: open.Settings.Redacted()}
	return job, nil
}

// addGlobalTraps adds the traps of the lists that are in use, as they are now.
func (s jobs) addGlobalTraps(settings *harvest.Settings) error {
	return s.Catalog.View(func(v catalog.View) error {
		in := catalog.HarvestsIn(v)
		lists, err := in.Definitions(defined.Traps)
		if err != nil {
			return err
		}
		all := slices.Clone(settings.Traps)
		for _, list := range lists {
			if list.Off {
				continue
			}
			_, text, err := in.Text(defined.Traps, list.Name, list.Version)
			if err != nil {
				return err
			}
			all = append(all, strings.Split(text, "\n")...)
		}
		settings.Traps = all
		return nil
	})
}

// mustHaveChannel refuses a channel that there is not. Before channels were agreed, every name was one.
func (s jobs) mustHaveChannel(name string) error {
	return s.Catalog.View(func(v catalog.View) error {
		cluster, err := v.Cluster()
		if err == nil && cluster.Level >= agreed.LevelOfParts {
			_, err = findChannel(v, name)
		}
		return err
	})
}

// proposeJob makes the job, by one command if it is small or the cluster knows no parts yet.
func (s jobs) proposeJob(ctx context.Context, asked catalog.JobCreation,
	spec harvest.Job) (made catalog.Job, err error) {
	level, err := levelOf(s.Catalog.View)
	if err != nil {
		return made, err
	}
	if spec.Settings, err = spec.Settings.AtLevel(level); err != nil {
		return made, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
	}
	if asked.Spec, err = json.Marshal(spec); err != nil {
		return made, fmt.Errorf("encode job %s: %w", spec.Name, err)
	}
	parted := level >= agreed.LevelOfParts
	var domains []string
	if parted {
		domains = agreed.DomainsOf(spec.Seeds, DomainOfSeed)
		asked.Seeds, asked.Channel = len(spec.Seeds), cmp.Or(asked.Channel, agreed.Focused)
	}
	if !parted && len(asked.Spec) > catalog.MaxBytes-oneCommand/2 {
		return made, &catalog.Refusal{Code: catalog.Unsupported, Message: fmt.Sprintf(
			"a job of %d bytes needs level %d; this cluster is at level %d",
			len(asked.Spec), agreed.LevelOfParts, level)}
	}
	if !parted || len(asked.Spec) <= oneCommand && len(domains) <= agreed.MaxPartItems {
		asked.Domains = domains
		err = s.propose(ctx, catalog.CreateJob, asked, &made)
		return made, err
	}
	parts, err := agreed.DivideFor(spec, DomainOfSeed)
	if err != nil {
		return made, problem(http.StatusUnprocessableEntity, wire.CodeInvalid, err.Error())
	}
	closing := agreed.JobClosing{Parts: len(parts), Submit: true}
	if closing.Sum, err = agreed.SumOf(parts); err != nil {
		return made, err
	}
	opening := agreed.JobOpening{Harvest: asked.Harvest, Collection: asked.Collection, Channel: asked.Channel,
		Secret: asked.Secret}
	if err := s.propose(ctx, agreed.OpenJob, opening, &made); err != nil {
		return made, err
	}
	closing.ID = made.ID
	for i, part := range parts {
		addition := agreed.JobAddition{ID: made.ID, Number: i + 1, Part: part}
		if err := s.propose(ctx, agreed.AddPart, addition, nil); err != nil {
			s.dropJob(ctx, made.ID)
			return made, err
		}
	}
	err = s.propose(ctx, agreed.CloseJob, closing, &made)
	return made, err
}

// dropJob removes a job of which not all parts could be added.
func (s jobs) dropJob(ctx context.Context, id uint64) {
	ctx = context.WithoutCancel(ctx)
	for left := 1; left > 0; {
		if err := s.propose(ctx, agreed.DropJob, catalog.JobRef{ID: id}, &left); err != nil {
			s.log.Warn("a job that is not whole is left", "job", id, "error", err)
			return
		}
	}
}

// shownSpec returns what is shown of what a job crawls: its settings, and the first seeds.
func shownSpec(v catalog.View, j *catalog.Job) (harvest.Job, error) {
	if j.Parts != nil && j.Parts.Seeds > seedsShown {
		return v.Head(j)
	}
	spec, err := v.Spec(j)
	spec.Seeds = spec.Seeds[:min(len(spec.Seeds), seedsShown)]
	return spec, err
}
