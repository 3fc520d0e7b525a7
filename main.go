// Holdfast is a web archive that several libraries run together.
package main

import (
	"os"

	"holdfast/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
