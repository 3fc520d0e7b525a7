package web

import "holdfast/api/wire"

// copyActs are about copies, what lies beside the archive, and ledgers.
func copyActs() []action {
	const copies, archive = "web.section-preservation", "web.section-archive"
	const operator, admin = wire.RoleOperator, wire.RoleAdmin
	return []action{
		{path: "/files/{name}/replace", title: "web.act-replace", section: archive, once: true, role: admin,
			ask: askReplace, do: replaceCopy},
		{path: "/files/{name}/checksum", title: "web.act-set-checksum", section: archive, once: true, role: admin,
			ask: askSetChecksum, do: setChecksum},
		{path: "/files/{name}/state", title: "web.act-set-state", section: archive, once: true, role: admin,
			ask: askSetCopyState, do: setCopyState},
		{path: "/files/{name}/restore", title: "web.act-restore-file", section: archive, role: admin,
			ask: askRestoreFile, do: restoreFile},
		{path: "/removal-rule/edit", title: "web.act-removal-rule", section: copies, role: admin,
			ask: askRemovalRule, do: setRemovalRule},
		{path: "/nodes/{name}/strays/{file}/adopt", title: "web.act-adopt", section: copies, role: operator,
			ask: askAdopt, do: adopt},
		{path: "/nodes/{name}/strays/{file}/set-aside", title: "web.act-set-aside", section: copies, role: operator,
			ask: askSetAside, do: setAside},
		{path: "/nodes/{name}/quarantine/{id}/restore", title: "web.act-restore-aside", section: copies,
			role: operator, ask: askRestoreAside, do: restoreAside},
		{path: "/nodes/{name}/quarantine/{id}/delete", title: "web.act-delete-aside", section: copies, once: true,
			role: admin, ask: askDeleteAside, do: deleteAside},
		{path: "/replicas/{name}/ledger", title: "web.act-ledger", section: copies, role: operator, ask: askLedger,
			do: makeLedger},
	}
}

// nodeActs let nodes join and leave, and rebuild their indexes.
func nodeActs() []action {
	const system, operator, admin = "web.section-system", wire.RoleOperator, wire.RoleAdmin
	return []action{
		{path: "/new/join-token", title: "web.act-join-token", section: system, role: admin, ask: askJoinToken,
			do: makeJoinToken},
		{path: "/join-tokens/{id}/revoke", title: "web.act-join-revoke", section: system, role: admin,
			ask: askRevokeJoin, do: revokeJoin},
		{path: "/nodes/{name}/remove", title: "web.act-node-remove", section: system, role: admin,
			ask: askRemoveNode, do: removeNode},
		{path: "/nodes/{name}/remove-lost", title: "web.act-node-lost", section: system, role: admin,
			ask: askRemoveLost, do: removeLost},
		{path: "/index/rebuild", title: "web.act-rebuild-all", section: system, role: operator, ask: askRebuild,
			do: rebuildIndex},
		{path: "/nodes/{name}/rebuild-index", title: "web.act-rebuild", section: system, role: operator,
			ask: askRebuild, do: rebuildIndex},
	}
}

// approvalActs are about acts that wait for a second person.
func approvalActs() []action {
	const copies = "web.section-preservation"
	return []action{
		{path: "/approvals/{id}/grant", title: "web.act-approve", section: copies, once: true, role: wire.RoleAdmin,
			ask: askApproval("web.approve-help", false, true, false), do: decide("grant")},
		{path: "/approvals/{id}/deny", title: "web.act-deny", section: copies, once: true, role: wire.RoleAdmin,
			ask: askApproval("web.deny-help", false, false, true), do: decide("deny")},
		{path: "/approvals/{id}/withdraw", title: "web.act-take-back", section: copies, once: true,
			role: wire.RoleReader, ask: askApproval("web.take-back-help", true, false, false), do: decide("withdraw")},
		{path: "/approval-rule/edit", title: "web.act-approval-rule", section: copies, once: true,
			role: wire.RoleAdmin, ask: askApprovalRule, do: setApprovalRule},
	}
}

// stagedActs are about changes of the layout that wait for an apply.
func stagedActs() []action {
	const copies, operator = "web.section-preservation", wire.RoleOperator
	return []action{
		{path: "/layout/apply", title: "web.act-apply", section: copies, once: true, role: operator, ask: askApply,
			do: applyLayout},
		{path: "/layout/revert", title: "web.act-revert-all", section: copies, once: true, role: operator,
			ask: askRevert, do: revertLayout},
		{path: "/layout/changes/{id}/revert", title: "web.act-revert", section: copies, once: true, role: operator,
			ask: askRevertOne, do: revertOne},
		{path: "/layout/setting", title: "web.act-staging", section: copies, once: true, role: operator,
			ask: askStaging, do: setStaging},
	}
}
