// Command ferretd is FerretDB as one small program: kvtrial's stand-in for a MongoDB server where there is none.
//
//	ferretd HANDLER URL TCP UNIX   HANDLER is sqlite or postgresql; TCP or UNIX may be empty
//	ferretd --version
//
// With FERRETD_USER and FERRETD_PASSWORD in the environment, which other users of the machine cannot read, it asks for that login
// (SCRAM, in the database FERRETD_DATABASE); without, it lets everybody in.
//
// Build: build.sh OUT
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("FerretDB", version(), "(login)")
		return
	}
	if len(os.Args) != 5 {
		log.Fatal("usage: ferretd sqlite|postgresql URL TCP UNIX, or ferretd --version")
	}
	removeStale(os.Args[4])
	f, err := ferretdb.New(&ferretdb.Config{
		Listener:      ferretdb.ListenerConfig{TCP: os.Args[3], Unix: os.Args[4]},
		Handler:       os.Args[1],
		SQLiteURL:     os.Args[2],
		PostgreSQLURL: os.Args[2],
		LoginDatabase: os.Getenv("FERRETD_DATABASE"),
		LoginUser:     os.Getenv("FERRETD_USER"),
		LoginPassword: os.Getenv("FERRETD_PASSWORD"),
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.Print(f.MongoDBURI())
	if err := f.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// removeStale removes a unix socket that a killed server has left behind; nobody could listen there again.
func removeStale(socket string) {
	info, err := os.Lstat(socket)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return
	}
	if conn, err := net.Dial("unix", socket); err == nil {
		conn.Close()
		log.Fatal(socket, ": somebody listens there already")
	}
	os.Remove(socket)
}

// What build.sh changed, such as ".indexed"; the version ends with it.
var change string

// version of the FerretDB module this program was built with.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/FerretDB/FerretDB" {
				return module.Version + change
			}
		}
	}
	return "of unknown version"
}
