#!/bin/sh
# Builds FerretDB as one program: tools/ferretd/build.sh OUT [GO]
#
# FerretDB 1.24 on SQLite looks for `_ferretdb_sjson->'$._id'` but indexes `_ferretdb_sjson->"_id"`: every look-up by id reads the whole
# collection, 5 ms with 1,000 documents and 17 ms with 4,000. This builds a copy in which the index is of the
# expression looked for, and the version says so.
# As a library FerretDB 1.24 cannot be given a login, though it knows one: the copy hands it on. And it says that a login is made only
# after one more, empty exchange, which drivers ask it to leave out: the copy says so at once.
set -eu
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
go=${2:-go}
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOFLAGS="-modcacherw -mod=mod"
"$go" mod download github.com/FerretDB/FerretDB
cp -R "$("$go" list -m -f '{{.Dir}}' github.com/FerretDB/FerretDB)" "$work/FerretDB"
chmod -R u+w "$work"
file=$work/FerretDB/internal/backends/sqlite/metadata/registry.go
sed '/columns\[i\] = fmt.Sprintf("%s->%s", DefaultColumn/a\
			if key.Field == "_id" {\
				columns[i] = IDColumn\
			}' "$file" >"$work/registry.go"
! cmp -s "$file" "$work/registry.go" || { echo "FerretDB is not as expected: $file" >&2; exit 1; }
mv "$work/registry.go" "$file"
file=$work/FerretDB/ferretdb/ferretdb.go
sed -e 's/^	SQLiteURL string.*/&\
\
	\/\/ Login is the one user, who is made when there is no database yet; nobody else gets in. Empty: everybody does.\
	LoginDatabase, LoginUser, LoginPassword string/' \
    -e 's/^		SQLiteURL: config.SQLiteURL,/&\
\
		SetupDatabase: config.LoginDatabase,\
		SetupUsername: config.LoginUser,\
		SetupPassword: password.WrapPassword(config.LoginPassword),\
		SetupTimeout:  time.Minute,/' \
    -e 's/^			BatchSize: .*/&\
			EnableNewAuth: config.LoginUser != "",/' \
    -e 's/^	"net\/url"$/&\
	"time"/' \
    -e 's/^	"github.com\/FerretDB\/FerretDB\/internal\/util\/state"$/	"github.com\/FerretDB\/FerretDB\/internal\/util\/password"\
&/' "$file" >"$work/ferretdb.go"
step=$work/FerretDB/internal/handler/msg_saslcontinue.go
sed -e 's/"done", valid, \/\/ for compat.*/"done", conv.Valid(),/' \
    -e 's/^	h.L.DebugContext(connCtx, "saslContinue: step succeed.*/	if conv.Valid() {\
		conninfo.Get(connCtx).SetBypassBackendAuth()\
	}\
\
&/' "$step" >"$work/step.go"
[ "$(diff "$step" "$work/step.go" | grep -c '^>')" = 5 ] || { echo "FerretDB is not as expected: $step" >&2; exit 1; }
mv "$work/step.go" "$step"
[ "$(diff "$file" "$work/ferretdb.go" | grep -c '^>')" = 11 ] || { echo "FerretDB is not as expected: $file" >&2; exit 1; }
mv "$work/ferretdb.go" "$file"
cp go.mod go.sum "$work"
"$go" mod edit -replace="github.com/FerretDB/FerretDB=$work/FerretDB" "$work/go.mod"
"$go" build -modfile="$work/go.mod" -trimpath -ldflags "-s -X main.change=.indexed" -o "$out" .
