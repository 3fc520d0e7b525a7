// Package cli is the command line: one struct for each command, whose fields are its arguments and whose Run does
// it. Answers go to stdout, as tables or with --json as stable JSON; everything else goes to stderr.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"holdfast/api/wire"
	"holdfast/harvest"
	"holdfast/node"
	"holdfast/node/config"
	"holdfast/node/membership"
)

// Exit codes. 1 and 2 may mean more for a command; its --help says what.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUnreadable  = 2
	exitUsage       = 64 // EX_USAGE
	exitUnavailable = 69 // EX_UNAVAILABLE: no node reached, or no quorum
	exitNoMember    = 77 // EX_NOPERM: the node is not a member, or must join again; starting it again does not help
	exitConfig      = 78 // EX_CONFIG
	exitInterrupted = 130
)

// errNo is returned by a command whose answer is no: it was carried out, but what it looked at is not as it should
// be.
var errNo = errors.New("not as it should be")

// exitError ends a command with a code of its own. The error, if any, is printed.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return "exit"
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// global are the flags that every command has.
type global struct {
	JSON    bool   `name:"json" help:"Print the answer as JSON."`
	Verbose bool   `short:"v" help:"Write a log to stderr."`
	Server  string `env:"HOLDFAST_SERVER" placeholder:"URL" help:"The node to ask, such as http://127.0.0.1:7481."`

	Insecure bool `help:"Allow a --server with http:// on another machine: the access token is sent unencrypted."`

	CA     string `name:"ca" env:"HOLDFAST_CA" placeholder:"FILE" help:"For a --server with https, trust only the certificates in this PEM file."`
	Token  string `env:"HOLDFAST_TOKEN" placeholder:"TEXT" help:"The access token to use; @FILE reads it from a file."`
	Config string `env:"HOLDFAST_CONFIG" placeholder:"FILE" help:"The cluster.toml; together with --node, it replaces --server and --token."`
	Node   string `env:"HOLDFAST_NODE" placeholder:"NAME" help:"The name of the node in the cluster.toml."`
}

// app is the environment of a command: its streams, context, log and global flags.
type app struct {
	global
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	log    *slog.Logger
}

// exit carries an exit code out of kong, which asks to exit from within its parser.
type exit int

// Main runs the command line args, without the program's name, and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case exit:
			code = int(e)
		default:
			panic(e)
		}
	}()
	var g grammar
	parser, err := newParser(&g, kong.Writers(stdout, stderr), kong.Exit(func(code int) { panic(exit(code)) }))
	if err != nil {
		fmt.Fprintln(stderr, "holdfast:", err)
		return exitUsage
	}
	command, err := parser.Parse(args)
	if err != nil {
		asJSON := slices.Contains(args, "--json")
		fail(stderr, asJSON, err, exitUsage)
		if !asJSON {
			fmt.Fprintln(stderr, "holdfast help lists the commands; holdfast help COMMAND explains one.")
		}
		return exitUsage
	}
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	level := slog.LevelWarn
	if g.Verbose {
		level = slog.LevelDebug
	}
	a := &app{global: g.global, ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr,
		log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))}
	return a.end(command.Run(a))
}

// newParser returns the parser of the command line.
func newParser(g *grammar, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(g, append(options, kong.Name("holdfast"), kong.Description(about), kong.Help(help),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 110}),
		kong.Vars{"version": "holdfast " + node.Version()}, settingVars())...)
}

// about describes the program in one sentence.
const about = "A web archive that several libraries run together."

// end prints the error, if there is one to print, and returns its exit code.
func (a *app) end(err error) int {
	if err == nil {
		return exitOK
	}
	code := codeOf(err)
	if a.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		code = exitInterrupted
	}
	var e exitError
	if errors.Is(err, errNo) || errors.As(err, &e) && e.err == nil {
		return code
	}
	fail(a.stderr, a.JSON, err, code)
	return code
}

// codeOf returns the exit code for an error.
func codeOf(err error) int {
	var e exitError
	switch {
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, errUsage), errors.Is(err, harvest.ErrInvalid):
		return exitUsage
	case errors.Is(err, config.ErrConfig):
		return exitConfig
	case errors.Is(err, membership.ErrRemoved), errors.Is(err, membership.ErrSuperseded),
		errors.Is(err, membership.ErrStateLost), errors.Is(err, membership.ErrNoKey),
		errors.Is(err, membership.ErrOldProgram):
		return exitNoMember
	case errors.Is(err, wire.ErrUnavailable), errors.Is(err, wire.ErrNoQuorum):
		return exitUnavailable
	}
	return exitFailed
}

// errUsage reports arguments that do not go together.
var errUsage = errors.New("usage")

// usage makes an error about the arguments.
func usage(format string, args ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exits is implemented by commands whose exit codes mean more than the usual ones.
type exits interface{ exits() []string }

// help prints kong's help and then the exit codes.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	selected := ctx.Selected()
	if selected == nil || !selected.Leaf() {
		return nil
	}
	fmt.Fprintln(ctx.Stdout, "\nExit codes:")
	for _, line := range exitCodes(selected) {
		fmt.Fprintln(ctx.Stdout, "  "+line)
	}
	return nil
}

// exitCodes lists the exit codes of a command, each with its meaning.
func exitCodes(command *kong.Node) []string {
	codes := []string{"0   done", "1   failed, or refused; the reason is on stderr"}
	if e, ok := command.Target.Addr().Interface().(exits); ok {
		codes = slices.Clone(e.exits())
	}
	codes = append(codes, "64  wrong usage", "69  no node can be reached, or the cluster has no quorum",
		"78  the configuration cannot be used", "130 interrupted")
	slices.SortStableFunc(codes, func(a, b string) int { return codeNumber(a) - codeNumber(b) })
	return slices.CompactFunc(codes, func(a, b string) bool { return codeNumber(a) == codeNumber(b) })
}

func codeNumber(line string) int {
	number, _, _ := strings.Cut(line, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}

// readText returns the value of a flag: the text itself, or with @FILE the file's content.
func readText(flag string) (string, error) {
	if len(flag) < 2 || flag[0] != '@' {
		return flag, nil
	}
	text, err := os.ReadFile(flag[1:])
	var missing *fs.PathError
	if errors.As(err, &missing) {
		return "", fmt.Errorf("read %s: %w", flag[1:], missing.Err)
	}
	return string(text), err
}

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"A command, such as: file put."`
}

func (c helpCmd) Run(a *app) error {
	code := Main(append(c.Command, "--help"), a.stdin, a.stdout, a.stderr)
	if code != exitOK {
		return exitError{code: code}
	}
	return nil
}

type versionCmd struct{}

func (versionCmd) Run(a *app) error {
	return a.answer(map[string]string{"version": node.Version()}, func() error {
		_, err := fmt.Fprintln(a.stdout, "holdfast", node.Version())
		return err
	})
}
