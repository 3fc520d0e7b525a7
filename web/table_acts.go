package web

import (
	"holdfast/api/wire"
	"holdfast/harvest/domain"
	"holdfast/harvest/split"
)

// acts returns all acts. What is offered at a page is named by the page, and who may do it stands here.
func acts() []action {
	var all []action
	for _, some := range [][]action{jobActs(), crawlActs(), harvestActs(), domainActs(), definedActs(),
		setUpActs(), systemActs(), alertActs(), noticeActs(), diskActs(), layoutActs(),
		copyActs(), approvalActs(), nodeActs(), stagedActs()} {
		all = append(all, some...)
	}
	return all
}

func jobActs() []action {
	const section, curator = "web.section-jobs", wire.RoleCurator
	return []action{
		{path: "/jobs/{id}/pause", title: "web.act-pause", section: section, once: true, role: curator,
			ask: askJobWish,
			do:  wishJob(wire.WishPause, "web.did-pause")},
		{path: "/jobs/{id}/resume", title: "web.act-resume", section: section, once: true, role: curator,
			ask: askNothingOfJob,
			do:  wishJob(wire.WishRun, "web.did-resume"), button: true},
		{path: "/jobs/{id}/stop", title: "web.act-stop", section: section, once: true, role: curator, ask: askStopJob,
			do: stopJob},
		{path: "/jobs/{id}/resubmit", title: "web.act-resubmit", section: section, once: true, role: curator,
			ask: askFailedJob("web.resubmit-help", false), do: resubmitJob},
		{path: "/jobs/{id}/reject", title: "web.act-reject", section: section, once: true, role: curator,
			ask: askFailedJob("web.reject-help", true), do: rejectJob},
		{path: "/jobs/{id}/freeze", title: "web.act-freeze", section: section, role: curator, ask: askQueues,
			do: freeze},
		{path: "/jobs/{id}/thaw", title: "web.act-thaw", section: section, role: curator, ask: askQueues, do: thaw},
		{path: "/jobs/{id}/seeds", title: "web.act-seeds", section: section, role: curator, ask: askSeedsOfJob,
			do: addSeedsToJob, large: true},
		{path: "/jobs/{id}/set", title: "web.act-set", section: section, role: curator, ask: askLive, do: changeLive},
		{path: "/jobs/{id}/checkpoint", title: "web.act-checkpoint", section: section, role: curator,
			ask: askCheckpoint, do: checkpoint},
	}
}

// crawlActs are the orders to a crawl that runs.
func crawlActs() []action {
	const section, curator = "web.section-jobs", wire.RoleCurator
	return []action{
		{path: "/jobs/{id}/retire", title: "web.act-retire", section: section, role: curator, ask: askRetire,
			do: retire},
		{path: "/jobs/{id}/budget", title: "web.act-budget", section: section, role: curator, ask: askBudget,
			do: budget},
		{path: "/jobs/{id}/block", title: "web.act-block", section: section, role: curator,
			ask: askURL("web.block-help", true), do: orderOf(blockOf, "web.did-block")},
		{path: "/jobs/{id}/unblock", title: "web.act-unblock", section: section, role: curator,
			ask: askURL("web.unblock-help", true), do: orderOf(unblockOf, "web.did-unblock")},
		{path: "/jobs/{id}/delete", title: "web.act-delete-uris", section: section, role: curator, ask: askDelete,
			do: deleteURIs},
		{path: "/jobs/{id}/never", title: "web.act-never", section: section, role: curator,
			ask: askURL("web.never-help", false), do: orderOf(neverOf, "web.did-never")},
		{path: "/jobs/{id}/forget", title: "web.act-forget", section: section, role: curator,
			ask: askURL("web.forget-help", false), do: orderOf(forgetOf, "web.did-forget")},
		{path: "/jobs/{id}/kill", title: "web.act-kill", section: section, role: curator, ask: askKill, do: kill},
		{path: "/jobs/{id}/restore", title: "web.act-restore", section: section, role: curator, ask: askRestore,
			do: restore},
	}
}

func harvestActs() []action {
	const section, curator = "web.section-harvests", wire.RoleCurator
	return []action{
		{path: "/archive-now", title: "web.act-now", section: "web.section-today", role: curator, ask: askNow,
			do: archiveNow, large: true},
		{path: "/new/harvest", title: "web.act-harvest", section: section, once: true, role: curator, ask: askHarvest,
			do: makeHarvest},
		{path: "/harvests/{number}/edit", title: "web.act-edit", section: section, once: true, role: curator,
			ask: askEditHarvest,
			do:  editHarvest},
		{path: "/harvests/{number}/copy", title: "web.act-copy", section: section, once: true, role: curator,
			ask: askCopyHarvest,
			do:  copyHarvest},
		{path: "/harvests/{number}/activate", title: "web.act-activate", section: section, once: true, role: curator,
			ask: askActivate, do: activate, button: true},
		{path: "/harvests/{number}/deactivate", title: "web.act-deactivate", section: section, once: true,
			role: curator,
			ask:  askDeactivate, do: deactivate},
		{path: "/harvests/{number}/delete", title: "web.act-delete", section: section, once: true, role: curator,
			ask: askDeleteHarvest, do: deleteHarvest},
		{path: "/harvests/{number}/add", title: "web.act-add", section: section, once: true, role: curator,
			ask: askConfigurations, do: addConfigurations},
		{path: "/harvests/{number}/remove", title: "web.act-take-out", section: section, once: true, role: curator,
			ask: askConfigurations, do: removeConfigurations},
		{path: "/harvests/{number}/seeds", title: "web.act-bulk", section: section, role: curator, ask: askBulk,
			do:    bulk,
			large: true},
	}
}

func domainActs() []action {
	const section, curator = "web.section-harvests", wire.RoleCurator
	return []action{
		{path: "/new/domain", title: "web.act-domain", section: section, once: true, role: curator, ask: askDomain,
			do: makeDomain},
		{path: "/domains/{name}/edit", title: "web.act-edit", section: section, once: true, role: curator,
			ask: askEditDomain,
			do:  editDomain},
		{path: "/domains/{name}/alias", title: "web.act-alias", section: section, once: true, role: curator,
			ask: askAlias,
			do:  alias},
		{path: "/domains/{name}/remove", title: "web.act-delete", section: section, once: true, role: curator,
			ask: askRemoveDomain, do: removeDomain},
		{path: "/domains/{name}/traps", title: "web.act-traps", section: section, role: curator, ask: askTraps,
			do: putTraps, large: true},
		{path: "/domains/{name}/configure", title: "web.act-configuration", section: section, once: true,
			role: curator,
			ask:  askConfiguration, do: configure},
		{path: "/domains/{name}/configurations/{part}", title: "web.act-edit", section: section, once: true,
			role: curator,
			ask:  askConfiguration, do: configure},
		{path: "/domains/{name}/configurations/{part}/remove", title: "web.act-delete", section: section,
			once: true, role: curator,
			ask: askPartGone, do: unconfigure},
		{path: "/domains/{name}/seeds", title: "web.act-list", section: section, role: curator, ask: askList,
			do:    putList,
			large: true},
		{path: "/domains/{name}/seeds/{part}/edit", title: "web.act-edit", section: section, role: curator,
			ask: askList,
			do:  putList, large: true},
		{path: "/domains/{name}/seeds/{part}/remove", title: "web.act-delete", section: section, role: curator,
			ask: askPartGone, do: removeList},
	}
}

func definedActs() []action {
	const section, curator = "web.section-harvests", wire.RoleCurator
	return []action{
		{path: "/new/template", title: "web.act-template", section: section, once: true, role: curator,
			ask: askNewTemplate,
			do:  makeTemplate, large: true},
		{path: "/templates/{name}/edit", title: "web.act-edit", section: section, role: curator, ask: askEditTemplate,
			do: editTemplate, large: true},
		{path: "/templates/{name}/copy", title: "web.act-copy", section: section, once: true, role: curator,
			ask: askCopyDefined,
			do:  copyTemplate},
		{path: "/templates/{name}/delete", title: "web.act-delete", section: section, once: true, role: curator,
			ask: askDeleteDefined, do: deleteTemplate},
		{path: "/new/schedule", title: "web.act-schedule", section: section, once: true, role: curator,
			ask: askNewSchedule,
			do:  makeSchedule, large: true},
		{path: "/schedules/{name}/edit", title: "web.act-edit", section: section, role: curator, ask: askEditSchedule,
			do: editSchedule, large: true},
		{path: "/schedules/{name}/copy", title: "web.act-copy", section: section, once: true, role: curator,
			ask: askCopyDefined,
			do:  copySchedule},
		{path: "/schedules/{name}/delete", title: "web.act-delete", section: section, once: true, role: curator,
			ask: askDeleteDefined, do: deleteSchedule},
		{path: "/new/trap-list", title: "web.act-trap-list", section: section, once: true, role: curator,
			ask:   askNewTraps,
			do:    makeTraps,
			large: true},
		{path: "/traps/{name}/edit", title: "web.act-edit", section: section, role: curator, ask: askEditTraps,
			do: editTraps, large: true},
		{path: "/traps/{name}/copy", title: "web.act-copy", section: section, once: true, role: curator,
			ask: askCopyDefined,
			do:  copyTraps},
		{path: "/traps/{name}/delete", title: "web.act-delete", section: section, once: true, role: curator,
			ask: askDeleteDefined,
			do:  deleteTraps},
		{path: "/new/channel", title: "web.act-channel", section: section, once: true, role: curator,
			ask: askNewChannel,
			do:  makeChannel},
		{path: "/channels/{name}/edit", title: "web.act-edit", section: section, once: true, role: curator,
			ask: askEditChannel,
			do:  editChannel},
		{path: "/channels/{name}/delete", title: "web.act-delete", section: section, once: true, role: curator,
			ask: askDeleteDefined, do: deleteChannel},
	}
}

// setUpActs are what archivists set up once: domains in bulk, fields, and what new things begin with.
func setUpActs() []action {
	const section, curator = "web.section-harvests", wire.RoleCurator
	return []action{
		{path: "/new/ingest", title: "web.act-ingest", section: section, role: curator, ask: askIngest,
			do: beginIngest, large: true},
		{path: "/ingests/{id}/stop", title: "web.act-stop", section: section, role: curator, ask: askStopIngest,
			do: stopIngest},
		{path: "/new/field", title: "web.act-field", section: section, once: true, role: curator, ask: askNewField,
			do: makeField},
		{path: "/fields/{of}/{name}/edit", title: "web.act-edit", section: section, once: true, role: curator,
			ask: askEditField, do: editField},
		{path: "/fields/{of}/{name}/remove", title: "web.act-delete", section: section, once: true, role: curator,
			ask: askRemoveField, do: removeField},
		{path: "/presets/domain/edit", title: "web.act-domain-presets", section: section, once: true, role: curator,
			ask: askPresets(domainPresets, domain.Reference()), do: setDomainPresets},
		{path: "/presets/harvest/edit", title: "web.act-harvest-presets", section: section, once: true, role: curator,
			ask: askPresets(harvestPresets, split.Reference()), do: setHarvestPresets},
	}
}

// diskActs are about the disks of the node that serves the page.
func diskActs() []action {
	const section, operator = "web.section-system", wire.RoleOperator
	return []action{
		{path: "/disks/pause", title: "web.act-pause-moves", section: section, role: operator,
			ask: askDisks("web.disk-pause-help", false), do: wishDisks("pause", "web.did-moves-pause")},
		{path: "/disks/resume", title: "web.act-resume-moves", section: section, role: operator,
			ask: askDisks("web.disk-resume-help", false), do: wishDisks("resume", "web.did-moves-resume")},
		{path: "/disks/add", title: "web.act-disk-add", section: section, role: operator, ask: askAddDisk,
			do: addDisk},
		{path: "/disks/{path}/replace", title: "web.act-disk-replace", section: section, role: operator,
			ask: askReplaceDisk, do: replaceDisk},
		{path: "/disks/{path}/drain", title: "web.act-drain-disk", section: section, role: operator, ask: askDrainDisk,
			do: wishDisks("drain", "web.did-drain-disk")},
		{path: "/disks/{path}/undrain", title: "web.act-undrain-disk", section: section, role: operator,
			ask: askDisks("web.disk-undrain-help", true), do: wishDisks("undrain", "web.did-undrain-disk")},
	}
}

// layoutActs change what the archive is made of, or lose or remove a file.
func layoutActs() []action {
	const copies, admin = "web.section-preservation", wire.RoleAdmin
	return []action{
		{path: "/new/replica", title: "web.act-replica", section: copies, role: admin, ask: askReplica,
			do: addReplica},
		{path: "/replicas/{name}/remove", title: "web.act-delete", section: copies, role: admin,
			ask: askRemoveReplica, do: removeReplica},
		{path: "/new/collection", title: "web.act-collection", section: copies, once: true, role: admin,
			ask: askCollection, do: addCollection},
		{path: "/collections/{name}/remove", title: "web.act-delete", section: copies, once: true, role: admin,
			ask: askRemoveCollection, do: removeCollection},
		{path: "/level/raise", title: "web.act-raise", section: "web.section-system", role: admin, ask: askRaise,
			do: raise},
		{path: "/files/{name}/lost", title: "web.act-lost", section: "web.section-archive", role: admin,
			ask: askOfFile("web.lost-help"), do: loseFile},
		{path: "/files/{name}/found", title: "web.act-found", section: "web.section-archive", role: admin,
			ask: askFound, do: findFile},
		{path: "/files/{name}/remove", title: "web.act-remove-file", section: "web.section-archive", role: admin,
			ask: askRemoveFile, do: removeFile},
	}
}

func noticeActs() []action {
	const section, curator = "web.section-system", wire.RoleCurator
	return []action{
		{path: "/new/notice", title: "web.act-notice", section: section, once: true, role: curator, ask: askNewNotice,
			do: addNotice},
		{path: "/notices/{name}/edit", title: "web.act-edit", section: section, once: true, role: curator,
			ask: askEditNotice, do: editNotice},
		{path: "/notices/{name}/remove", title: "web.act-delete", section: section, once: true, role: curator,
			ask: askRemoveNotice, do: removeNotice},
		{path: "/notices/{name}/test", title: "web.act-test", section: section, role: curator, ask: askTestNotice,
			do: testNotice, button: true},
	}
}

func systemActs() []action {
	const people, copies = "web.section-system", "web.section-preservation"
	const operator, admin = wire.RoleOperator, wire.RoleAdmin
	return []action{
		{path: "/new/invitation", title: "web.act-invite", section: people, once: true, role: admin, ask: askInvite,
			do: invite},
		{path: "/people/{id}/invite-again", title: "web.act-invite-again", section: people, once: true, role: admin,
			ask: askInviteAgain, do: inviteAgain},
		{path: "/people/{id}/disable", title: "web.act-disable", section: people, once: true, role: admin,
			ask: askDisable,
			do:  disable},
		{path: "/people/{id}/enable", title: "web.act-enable", section: people, once: true, role: admin,
			ask: askEnable,
			do:  enable},
		{path: "/people/{id}/grant", title: "web.act-grant", section: people, once: true, role: admin, ask: askGrant,
			do: grant},
		{path: "/people/{id}/grants/{grant}/end", title: "web.act-end-grant", section: people, once: true, role: admin,
			ask: askEndGrant, do: endGrant},
		{path: "/people/{id}/identities/{identity}/unlink", title: "web.act-unlink", section: people, once: true,
			role: admin, ask: askUnlink, do: unlink},
		{path: "/new/batch", title: "web.act-batch", section: "web.section-archive", role: wire.RoleCurator,
			ask: askBatch, do: runBatch},
		{path: "/batches/{id}/pause", title: "web.act-pause", section: "web.section-archive", role: wire.RoleCurator,
			ask: askOfBatch("web.batch-pause-help"), do: wishBatch(wire.WishPause)},
		{path: "/batches/{id}/resume", title: "web.act-resume", section: "web.section-archive",
			role: wire.RoleCurator, ask: askOfBatch("web.batch-resume-help"), do: wishBatch(wire.WishRun),
			button: true},
		{path: "/batches/{id}/stop", title: "web.act-stop", section: "web.section-archive", role: wire.RoleCurator,
			ask: askOfBatch("web.batch-stop-help"), do: wishBatch(wire.WishStop)},
		{path: "/new/audit", title: "web.act-audit", section: copies, role: operator, ask: askAudit, do: runAudit},
		{path: "/audits/{id}/pause", title: "web.act-pause", section: copies, role: operator,
			ask: askOfAudit("web.audit-pause-help"), do: wishAudit(wire.WishPause)},
		{path: "/audits/{id}/resume", title: "web.act-resume", section: copies, role: operator,
			ask: askOfAudit("web.audit-resume-help"), do: wishAudit(wire.WishRun), button: true},
		{path: "/audits/{id}/stop", title: "web.act-stop", section: copies, role: operator,
			ask: askOfAudit("web.audit-stop-help"), do: wishAudit(wire.WishStop)},
		{path: "/files/{name}/verify", title: "web.act-verify", section: "web.section-archive", role: operator,
			ask: askVerify, do: verify},
		{path: "/nodes/{name}/drain", title: "web.act-drain", section: people, role: operator, ask: askDrain,
			do: drain(true)},
		{path: "/nodes/{name}/undrain", title: "web.act-undrain", section: people, role: operator, ask: askUndrain,
			do: drain(false), button: true},
		{path: "/nodes/{name}/weight", title: "web.act-weight", section: people, role: operator, ask: askWeight,
			do: weight},
		{path: "/nodes/{name}/log-level", title: "web.act-log-level", section: people, role: operator,
			ask: askLogLevel, do: setLogLevel},
	}
}
