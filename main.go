// Holdfast is a web archive that several libraries run together.
package main

import (
	"os"
	_ "time/tzdata" // schedules name time zones, and not every machine has them

	"holdfast/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
