//! How values lie in tables: a column of bytes, an hstore, or a jsonb document.
//!
//! `hstore` and `jsonb` hold text only, so the server turns bytes into text and back, as `encode(…, 'escape')` does: ASCII stays as it
//! is, a backslash is doubled, zero bytes and bytes above 127 become `\nnn`. A value is the pair `v` of its row's hstore or the member
//! `v` of its document, a counter the pair or member `n`, and a record of counters one row with a pair or member each.

use super::CAPABILITIES;
use store::{Capabilities, Choice, OptionInfo};

/// The option that chooses the layout.
pub(super) const LAYOUT: Choice<Layout> = OptionInfo::one_of(
    "layout",
    &["table", "hstore", "jsonb"],
    "how values lie: bytes in a column, text in an hstore, or text in a jsonb document",
)
.means(&[Layout::Table, Layout::Hstore, Layout::Jsonb]);

/// kvtrial's own limit of a value that becomes text: the text is up to four times as long, and each write makes all of it again.
const MAX_TEXT_VALUE_BYTES: usize = 4 << 20;

/// A layout of values in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// `k bytea, v bytea`.
    Table,
    /// `k bytea, h hstore`.
    Hstore,
    /// `k bytea, j jsonb`.
    Jsonb,
}

impl Layout {
    /// Returns the capabilities of a store with this layout.
    pub(super) fn capabilities(self) -> Capabilities {
        match self {
            Layout::Table => CAPABILITIES,
            Layout::Hstore | Layout::Jsonb => Capabilities { max_value_bytes: MAX_TEXT_VALUE_BYTES, ..CAPABILITIES },
        }
    }
}

#[cfg(feature = "postgres")]
pub(super) use statements::{HSTORE_IN_SIGHT, Sql, TYPES};

#[cfg(feature = "postgres")]
mod statements {
    use super::Layout;
    use tokio_postgres::types::Type;

    /// The statement that finds the extension's functions, which may be in any schema of the user's.
    pub(in crate::postgres) const HSTORE_IN_SIGHT: &str = "SELECT set_config('search_path', quote_ident(nspname) || ', public', false) \
         FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'hstore'";

    /// The statements that are prepared when a connection is opened.
    #[derive(Clone, Copy)]
    pub(in crate::postgres) enum Sql {
        Get,
        Put,
        Insert,
        Swap,
        Delete,
        Append,
        Increment,
        GetCounter,
        IncrementField,
        GetFields,
        GetMany,
        PutMany,
        PutManyDistinct,
        Scan,
    }

    const COUNT: usize = 14;

    /// The types of each statement's parameters.
    pub(in crate::postgres) const TYPES: [&[Type]; COUNT] = [
        &[Type::BYTEA],
        &[Type::BYTEA, Type::BYTEA],
        &[Type::BYTEA, Type::BYTEA],
        &[Type::BYTEA, Type::BYTEA, Type::BYTEA],
        &[Type::BYTEA],
        &[Type::BYTEA, Type::BYTEA],
        &[Type::BYTEA, Type::INT8],
        &[Type::BYTEA],
        &[Type::BYTEA, Type::BYTEA, Type::INT8],
        &[Type::BYTEA],
        &[Type::BYTEA_ARRAY],
        &[Type::BYTEA_ARRAY, Type::BYTEA_ARRAY],
        &[Type::BYTEA_ARRAY, Type::BYTEA_ARRAY],
        &[Type::BYTEA, Type::INT8],
    ];

    impl Layout {
        /// Returns the tables and their columns.
        pub(in crate::postgres) fn tables(self) -> [(&'static str, &'static str); 3] {
            match self {
                Layout::Table => [
                    ("kv", "k bytea PRIMARY KEY, v bytea NOT NULL"),
                    ("counters", "k bytea PRIMARY KEY, n bigint NOT NULL"),
                    ("fields", "k bytea, f bytea, n bigint NOT NULL, PRIMARY KEY (k, f)"),
                ],
                Layout::Hstore => {
                    ["kv", "counters", "fields"].map(|name| (name, "k bytea PRIMARY KEY, h hstore NOT NULL"))
                }
                Layout::Jsonb => {
                    ["kv", "counters", "fields"].map(|name| (name, "k bytea PRIMARY KEY, j jsonb NOT NULL"))
                }
            }
        }

        /// Returns the text of each statement, in the order of [`Sql`].
        pub(in crate::postgres) fn statements(self) -> &'static [&'static str; COUNT] {
            match self {
                Layout::Table => &TABLE,
                Layout::Hstore => &HSTORE,
                Layout::Jsonb => &JSONB,
            }
        }

        /// Makes a new connection ready for the statements.
        pub(in crate::postgres) async fn ready(
            self,
            client: &tokio_postgres::Client,
        ) -> Result<(), tokio_postgres::Error> {
            match self {
                Layout::Hstore => client.batch_execute(HSTORE_IN_SIGHT).await,
                Layout::Table | Layout::Jsonb => Ok(()),
            }
        }

        /// Returns the statement that counts and sums over the documents that the values are: two paths in, and key, count and sum of each group out.
        pub(in crate::postgres) fn reduce(self) -> &'static str {
            match self {
                Layout::Table => {
                    "SELECT d #>> $1, count(*), sum((d #>> $2)::bigint)::bigint \
                     FROM (SELECT convert_from(v, 'UTF8')::json AS d FROM kvtrial.kv) AS documents GROUP BY 1"
                }
                Layout::Hstore => {
                    "SELECT d #>> $1, count(*), sum((d #>> $2)::bigint)::bigint \
                     FROM (SELECT convert_from(decode(h -> 'v', 'escape'), 'UTF8')::json AS d FROM kvtrial.kv) AS documents GROUP BY 1"
                }
                Layout::Jsonb => {
                    "SELECT d #>> $1, count(*), sum((d #>> $2)::bigint)::bigint \
                     FROM (SELECT convert_from(decode(j ->> 'v', 'escape'), 'UTF8')::json AS d FROM kvtrial.kv) AS documents GROUP BY 1"
                }
            }
        }

        /// Returns how values lie, for the report.
        pub(in crate::postgres) fn describe(self) -> (&'static str, &'static str) {
            match self {
                Layout::Table => ("table", "bytea column"),
                Layout::Hstore => ("hstore", "text in an hstore, bytes above 127 as \\nnn (encode escape)"),
                Layout::Jsonb => ("jsonb", "string in a jsonb document, bytes above 127 as \\nnn (encode escape)"),
            }
        }
    }

    const TABLE: [&str; COUNT] = [
        "SELECT v FROM kvtrial.kv WHERE k = $1",
        "INSERT INTO kvtrial.kv (k, v) VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
        "INSERT INTO kvtrial.kv (k, v) VALUES ($1, $2) ON CONFLICT (k) DO NOTHING",
        "UPDATE kvtrial.kv SET v = $2 WHERE k = $1 AND v = $3",
        "DELETE FROM kvtrial.kv WHERE k = $1",
        "INSERT INTO kvtrial.kv AS kv (k, v) VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = kv.v || excluded.v",
        "INSERT INTO kvtrial.counters AS c (k, n) VALUES ($1, $2) \
         ON CONFLICT (k) DO UPDATE SET n = c.n + excluded.n RETURNING n",
        "SELECT n FROM kvtrial.counters WHERE k = $1",
        "INSERT INTO kvtrial.fields AS c (k, f, n) VALUES ($1, $2, $3) \
         ON CONFLICT (k, f) DO UPDATE SET n = c.n + excluded.n RETURNING n",
        "SELECT f, n FROM kvtrial.fields WHERE k = $1 ORDER BY f",
        "SELECT kv.k, kv.v FROM unnest($1) WITH ORDINALITY AS asked (k, place) JOIN kvtrial.kv AS kv USING (k) \
         ORDER BY asked.place",
        "INSERT INTO kvtrial.kv (k, v) SELECT k, v FROM unnest($1, $2) AS given (k, v) \
         ON CONFLICT (k) DO UPDATE SET v = excluded.v",
        "INSERT INTO kvtrial.kv (k, v) SELECT DISTINCT ON (k) k, v \
         FROM unnest($1, $2) WITH ORDINALITY AS given (k, v, place) \
         ORDER BY k, place DESC ON CONFLICT (k) DO UPDATE SET v = excluded.v",
        "SELECT k, v FROM kvtrial.kv WHERE k >= $1 ORDER BY k LIMIT $2",
    ];

    const HSTORE: [&str; COUNT] = [
        "SELECT decode(h -> 'v', 'escape') FROM kvtrial.kv WHERE k = $1",
        "INSERT INTO kvtrial.kv AS kv (k, h) VALUES ($1, hstore('v', encode($2, 'escape'))) \
         ON CONFLICT (k) DO UPDATE SET h = kv.h || excluded.h",
        "INSERT INTO kvtrial.kv (k, h) VALUES ($1, hstore('v', encode($2, 'escape'))) ON CONFLICT (k) DO NOTHING",
        "UPDATE kvtrial.kv SET h = h || hstore('v', encode($2, 'escape')) \
         WHERE k = $1 AND h -> 'v' = encode($3, 'escape')",
        "DELETE FROM kvtrial.kv WHERE k = $1",
        "INSERT INTO kvtrial.kv AS kv (k, h) VALUES ($1, hstore('v', encode($2, 'escape'))) \
         ON CONFLICT (k) DO UPDATE SET h = kv.h || hstore('v', (kv.h -> 'v') || (excluded.h -> 'v'))",
        "INSERT INTO kvtrial.counters AS c (k, h) VALUES ($1, hstore('n', $2::text)) \
         ON CONFLICT (k) DO UPDATE SET h = c.h || hstore('n', ((c.h -> 'n')::bigint + $2)::text) \
         RETURNING (h -> 'n')::bigint",
        "SELECT (h -> 'n')::bigint FROM kvtrial.counters WHERE k = $1",
        "INSERT INTO kvtrial.fields AS c (k, h) VALUES ($1, hstore(encode($2, 'escape'), $3::text)) \
         ON CONFLICT (k) DO UPDATE SET h = c.h || hstore(encode($2, 'escape'), \
         (coalesce((c.h -> encode($2, 'escape'))::bigint, 0) + $3)::text) \
         RETURNING (h -> encode($2, 'escape'))::bigint",
        "SELECT decode(key, 'escape') AS f, value::bigint FROM kvtrial.fields, each(h) WHERE k = $1 ORDER BY f",
        "SELECT kv.k, decode(kv.h -> 'v', 'escape') FROM unnest($1) WITH ORDINALITY AS asked (k, place) \
         JOIN kvtrial.kv AS kv USING (k) ORDER BY asked.place",
        "INSERT INTO kvtrial.kv AS kv (k, h) SELECT k, hstore('v', encode(v, 'escape')) \
         FROM unnest($1, $2) AS given (k, v) ON CONFLICT (k) DO UPDATE SET h = kv.h || excluded.h",
        "INSERT INTO kvtrial.kv AS kv (k, h) SELECT DISTINCT ON (k) k, hstore('v', encode(v, 'escape')) \
         FROM unnest($1, $2) WITH ORDINALITY AS given (k, v, place) \
         ORDER BY k, place DESC ON CONFLICT (k) DO UPDATE SET h = kv.h || excluded.h",
        "SELECT k, decode(h -> 'v', 'escape') FROM kvtrial.kv WHERE k >= $1 ORDER BY k LIMIT $2",
    ];

    const JSONB: [&str; COUNT] = [
        "SELECT decode(j ->> 'v', 'escape') FROM kvtrial.kv WHERE k = $1",
        "INSERT INTO kvtrial.kv AS kv (k, j) VALUES ($1, jsonb_build_object('v', encode($2, 'escape'))) \
         ON CONFLICT (k) DO UPDATE SET j = jsonb_set(kv.j, '{v}', excluded.j -> 'v')",
        "INSERT INTO kvtrial.kv (k, j) VALUES ($1, jsonb_build_object('v', encode($2, 'escape'))) ON CONFLICT (k) DO NOTHING",
        "UPDATE kvtrial.kv SET j = jsonb_set(j, '{v}', to_jsonb(encode($2, 'escape'))) \
         WHERE k = $1 AND j ->> 'v' = encode($3, 'escape')",
        "DELETE FROM kvtrial.kv WHERE k = $1",
        "INSERT INTO kvtrial.kv AS kv (k, j) VALUES ($1, jsonb_build_object('v', encode($2, 'escape'))) \
         ON CONFLICT (k) DO UPDATE SET j = jsonb_set(kv.j, '{v}', to_jsonb((kv.j ->> 'v') || (excluded.j ->> 'v')))",
        "INSERT INTO kvtrial.counters AS c (k, j) VALUES ($1, jsonb_build_object('n', $2)) \
         ON CONFLICT (k) DO UPDATE SET j = jsonb_set(c.j, '{n}', to_jsonb((c.j -> 'n')::bigint + $2)) \
         RETURNING (j -> 'n')::bigint",
        "SELECT (j -> 'n')::bigint FROM kvtrial.counters WHERE k = $1",
        "INSERT INTO kvtrial.fields AS c (k, j) VALUES ($1, jsonb_build_object(encode($2, 'escape'), $3)) \
         ON CONFLICT (k) DO UPDATE SET j = jsonb_set(c.j, ARRAY[encode($2, 'escape')], \
         to_jsonb(coalesce((c.j -> encode($2, 'escape'))::bigint, 0) + $3)) \
         RETURNING (j -> encode($2, 'escape'))::bigint",
        "SELECT decode(key, 'escape') AS f, value::bigint FROM kvtrial.fields, jsonb_each(j) WHERE k = $1 ORDER BY f",
        "SELECT kv.k, decode(kv.j ->> 'v', 'escape') FROM unnest($1) WITH ORDINALITY AS asked (k, place) \
         JOIN kvtrial.kv AS kv USING (k) ORDER BY asked.place",
        "INSERT INTO kvtrial.kv AS kv (k, j) SELECT k, jsonb_build_object('v', encode(v, 'escape')) \
         FROM unnest($1, $2) AS given (k, v) ON CONFLICT (k) DO UPDATE SET j = jsonb_set(kv.j, '{v}', excluded.j -> 'v')",
        "INSERT INTO kvtrial.kv AS kv (k, j) SELECT DISTINCT ON (k) k, jsonb_build_object('v', encode(v, 'escape')) \
         FROM unnest($1, $2) WITH ORDINALITY AS given (k, v, place) \
         ORDER BY k, place DESC ON CONFLICT (k) DO UPDATE SET j = jsonb_set(kv.j, '{v}', excluded.j -> 'v')",
        "SELECT k, decode(j ->> 'v', 'escape') FROM kvtrial.kv WHERE k >= $1 ORDER BY k LIMIT $2",
    ];
}
