//! What time of day a private node has.

use super::setup::CONNECT_TIMEOUT;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy};
use scylla::statement::unprepared::Statement;
use scylla::value::CqlTimestamp;
use std::fmt::Display;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::asynchronous::brief;
use store::{Endpoint, StoreError};
use study::Spec;

/// Asks this node and no other.
pub(super) fn time_of_day(_: &Spec, node: &Endpoint) -> Result<SystemTime, StoreError> {
    let trouble = |error: &dyn Display| StoreError::open(node, error);
    let (host, port) = node.tcp().ok_or_else(|| trouble(&"it has no port"))?;
    let address = SocketAddr::new(host.parse().map_err(|error| trouble(&error))?, port);
    let there = SingleTargetLoadBalancingPolicy::new(NodeIdentifier::NodeAddress(address), None);
    let mut statement = Statement::new("SELECT currentTimestamp() FROM system.local");
    statement.set_load_balancing_policy(Some(there));
    let said = brief(node, CONNECT_TIMEOUT, async {
        let driver = SessionBuilder::new()
            .known_node_addr(address)
            .connection_timeout(CONNECT_TIMEOUT)
            .fetch_schema_metadata(false)
            .driver_config_reporting(false)
            .build()
            .await
            .map_err(|error| trouble(&error))?;
        let told = driver.query_unpaged(statement, &[]).await.map_err(|error| trouble(&error))?;
        let told = told.into_rows_result().map_err(|error| trouble(&error))?;
        Ok(told.single_row::<(CqlTimestamp,)>().map_err(|error| trouble(&error))?.0)
    })?;
    Ok(UNIX_EPOCH + Duration::from_millis(said.0.max(0).cast_unsigned()))
}
