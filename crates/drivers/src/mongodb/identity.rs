//! The identity and the settings that a server states.

use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};
use std::collections::BTreeMap;

/// The identity that the server states.
pub(super) struct Identity {
    pub(super) product: &'static str,
    pub(super) version: String,
    /// The MongoDB version FerretDB claims to speak.
    pub(super) speaks: Option<String>,
}

/// Asks the server who it is.
pub(super) async fn identity(database: &Database) -> mongodb::error::Result<Identity> {
    let info = database.run_command(doc! { "buildInfo": 1 }).await?;
    let version = info.get_str("version").unwrap_or_default().to_owned();
    Ok(match info.get("ferretdbVersion").or_else(|| info.get_document("ferretdb").ok()?.get("version")) {
        None => Identity { product: "MongoDB", version, speaks: None },
        Some(ferret) => {
            let text = ferret.as_str().unwrap_or_default().trim_start_matches('v').to_owned();
            Identity { product: "FerretDB", version: text, speaks: Some(version) }
        }
    })
}

/// Returns the effective options of a `mongod`, flattened; FerretDB shows none.
pub(super) async fn settings(database: &Database) -> BTreeMap<String, String> {
    let mut config = BTreeMap::new();
    let admin = database.client().database("admin");
    if let Ok(reply) = admin.run_command(doc! { "getCmdLineOpts": 1 }).await
        && let Ok(parsed) = reply.get_document("parsed")
    {
        flatten("", parsed, &mut config);
    }
    if let Ok(reply) = admin.run_command(doc! { "serverStatus": 1 }).await
        && let Ok(engine) = reply.get_document("storageEngine")
        && let Ok(name) = engine.get_str("name")
    {
        config.insert("storage_engine".into(), name.into());
    }
    config
}

fn flatten(prefix: &str, document: &Document, config: &mut BTreeMap<String, String>) {
    for (name, value) in document {
        let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Bson::Document(inner) => flatten(&path, inner, config),
            Bson::String(text) => drop(config.insert(path, text.clone())),
            other => drop(config.insert(path, other.to_string())),
        }
    }
}
