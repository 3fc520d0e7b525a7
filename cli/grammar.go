package cli

import "github.com/alecthomas/kong"

// grammar is the whole command line: the flags that every command has, and the commands in the order of the help text.
type grammar struct {
	global

	aloneGrammar
	nodeGrammar
	peopleGrammar
	clusterGrammar
	harvestGrammar
	archiveGrammar
	helpGrammar
}

// aloneGrammar are the commands that need no cluster.
type aloneGrammar struct {
	Demo   demoCmd   `cmd:"" help:"Try everything: three nodes on this machine harvest, copy, repair and show a website."`
	Up     upCmd     `cmd:"" help:"Archive web pages and browse them, with one node and all defaults."`
	Crawl  crawlCmd  `cmd:"" help:"Crawl web pages into WARC files, without a cluster."`
	Replay replayCmd `cmd:"" help:"Browse WARC files, without a cluster."`
	WARC   warcCmd   `cmd:"" name:"warc" help:"Check, list, print and convert WARC files."`
	CDX    cdxCmd    `cmd:"" name:"cdx" help:"Print the index of WARC files."`
}

// nodeGrammar are the commands that make this machine a node.
type nodeGrammar struct {
	Init  initCmd  `cmd:"" help:"Found a cluster with this node as its first."`
	Start startCmd `cmd:"" help:"Run a node."`
	Join  joinCmd  `cmd:"" help:"Make this machine a node of a cluster, with a join token."`
}

// peopleGrammar are the commands about people and their rights.
type peopleGrammar struct {
	User     userCmd     `cmd:"" help:"Invite, list, change and disable the people who work with the archive."`
	Approval approvalCmd `cmd:"" help:"List, grant and deny acts that wait for a second person; say which wait."`
	Grant    grantCmd    `cmd:"" help:"Give, end and list grants: what each person may do, and where."`
	Tokens   tokenCmd    `cmd:"" name:"token" help:"Create, list and revoke access tokens of people and programs."`
	SignIn   signInCmd   `cmd:"" name:"sign-in" help:"Print a link that signs you in to the node's pages in a browser."`
}

// clusterGrammar are the commands about the cluster: its nodes, and where the archive lies.
type clusterGrammar struct {
	Peer     peerCmd       `cmd:"" help:"Test the network paths between the nodes."`
	Settings configCmd     `cmd:"" name:"config" help:"Check a cluster.toml, or show the settings of a node."`
	Status   statusCmd     `cmd:"" help:"Show the state of the cluster, and what is wrong."`
	Alerts   alertCmd      `cmd:"" name:"alert" help:"List what is wrong or waits for a person, and acknowledge it."`
	Notices  noticeCmd     `cmd:"" name:"notice" help:"Keep the addresses that are told of alerts: by mail, webhook or standard error."`
	Nodes    nodeCmd       `cmd:"" name:"node" help:"List, invite, drain and remove nodes."`
	Log      logCmd        `cmd:"" help:"Show the last lines of a node's log, or make it log more for a time."`
	Replica  replicaCmd    `cmd:"" help:"List, add and remove replicas: the sets of copies."`
	Collects collectionCmd `cmd:"" name:"collection" help:"List, add and remove collections of files and harvests."`
	Layout   layoutCmd     `cmd:"" help:"Show, apply and revert staged changes of nodes and replicas."`
	Shard    shardCmd      `cmd:"" help:"List the shards: the parts of each replica, and which nodes hold them."`
	Disk     diskCmd       `cmd:"" help:"List, drain and pause the disks of one node."`
	Cluster  clusterCmd    `cmd:"" help:"Raise the cluster's level, or recover the cluster."`
}

// harvestGrammar are the commands about what archivists define for harvests.
type harvestGrammar struct {
	Harvest  harvestCmd  `cmd:"" help:"Define harvests: what is crawled, and when; activate them, and follow their runs."`
	Channel  channelCmd  `cmd:"" help:"List, create and delete channels, which say which nodes take which jobs."`
	Template templateCmd `cmd:"" help:"Keep templates: settings of crawls that harvests refer to."`
	Schedule scheduleCmd `cmd:"" help:"Keep schedules, which say when harvests repeat."`
	Trap     trapCmd     `cmd:"" help:"Keep global lists of crawler traps: what no crawl fetches."`
}

// archiveGrammar are the commands about what the archive holds, and how that comes there.
type archiveGrammar struct {
	File       fileCmd       `cmd:"" help:"Put, get, list, verify and remove the archive's files."`
	Quarantine quarantineCmd `cmd:"" help:"List, restore and delete what the nodes have set aside."`
	Batch      batchCmd      `cmd:"" help:"Run programs over the archive's files on the nodes that have them, and read the results."`
	Audit      auditCmd      `cmd:"" help:"Check all copies of the files, and follow the checks."`
	Ledger     ledgerCmd     `cmd:"" help:"Make ledgers, which prove what a replica holds, and check folders by them without a cluster."`
	Domain     domainCmd     `cmd:"" help:"Keep domains: their configurations, seed lists, traps and aliases; bring in lists of them."`
	Field      fieldCmd      `cmd:"" help:"Define extended fields of domains and harvests."`
	Job        jobCmd        `cmd:"" help:"Create, look at and control crawls."`
	Crawling   settingsCmd   `cmd:"" name:"settings" help:"List the settings of a crawl."`
	Export     exportCmd     `cmd:"" help:"Write captures, or the files of a job, into one WACZ or WARC file."`
	Import     importCmd     `cmd:"" help:"Put WARC, ARC and WACZ files, and folders of them, into the archive."`
	Access     accessCmd     `cmd:"" help:"Keep the rules that say who may see which captures."`
	Capture    captureCmd    `cmd:"" help:"Find captures: the archived responses."`
	Index      indexCmd      `cmd:"" help:"Show or rebuild the index of captures."`
	Catalog    catalogCmd    `cmd:"" help:"Check, rebuild and trace what the nodes have agreed on."`
}

// helpGrammar are the commands about the command line itself.
type helpGrammar struct {
	Help     helpCmd     `cmd:"" help:"List the commands, or explain one."`
	Complete completeCmd `cmd:"" name:"completion" help:"Print a script that lets a shell complete commands and flags."`
	Man      manCmd      `cmd:"" help:"Print a manual page, or write all of them."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
	Words    wordsCmd    `cmd:"" name:"complete-words" hidden:"" help:"Print what can follow the given words."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version and exit."`
}
