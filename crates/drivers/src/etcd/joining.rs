//! One member more, while the others serve: as the manual of etcd has it, it first learns all there is without a vote (a *learner*), then
//! gets one (<https://etcd.io/docs/v3.4/op-guide/runtime-configuration/>).

use super::login::{self, Whose};
use super::setup::{ask, leaders, open};
use super::{found, member};
use crate::shared::http::{Http, Tickets};
use serde::Deserialize;
use serde_json::json;
use std::thread;
use std::time::{Duration, Instant};
use store::asynchronous::brief;
use store::{Deployment, Endpoint, Forming, FormingStep, Members, Node, Place, Ready, StoreError};
use study::Spec;

/// The time a request about members may take: all of them agree on the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The answer of members that have not heard from each other for five seconds yet, or not lately: no member may join then.
const UNHEALTHY: &str = "unhealthy cluster";

/// The time for which an unhealthy cluster is waited for, and the pause before it is asked again.
const HEALTHY: Duration = Duration::from_secs(20);
const AGAIN: Duration = Duration::from_millis(200);

/// The time a new member may take until it has everything the others have.
const JOINING_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Deserialize)]
struct MemberList {
    members: Vec<KnownMember>,
}

/// A member as the others know it.
#[derive(Deserialize)]
struct KnownMember {
    #[serde(rename = "ID")]
    id: String,
    /// The name, which is empty, and left out, until the member was started.
    #[serde(default)]
    name: String,
    #[serde(default, rename = "peerURLs")]
    peers: Vec<String>,
    #[serde(default, rename = "isLearner")]
    is_learner: bool,
}

/// Plans one more member. The others have to know it before it starts, so it is announced to them here.
pub(super) fn join(spec: &Spec, place: &mut Place, members: &Members) -> Result<Deployment, StoreError> {
    let program = found(spec)?;
    let name = &members.name;
    let mut own = place.node(name);
    let peers = format!("http://{}:{}", own.address(), own.port()?);
    let known = announced(&members.endpoints, &peers)?;
    let others = known.iter().map(|it| format!("{}={}", it.name, it.peers.concat()));
    let all: Vec<String> = others.chain([format!("{name}={peers}")]).collect();
    let mut plan = member(spec, &program, &mut own, name, &peers, &all.join(","))?;
    plan.run = plan.run.args(["--initial-cluster-state", "existing"]);
    let forming = Forming { steps: vec![FormingStep::Until(all_vote)], timeout: JOINING_TIMEOUT };
    let node = Node { ready: Ready::Listens, ..Node::new(name.clone(), plan) };
    Ok(Deployment { forming: Some(forming), ..Deployment::from_iter([node]) })
}

/// Announces a member that will learn from the others, as soon as they take it; returns the members there were before.
fn announced(endpoints: &[Endpoint], peers: &str) -> Result<Vec<KnownMember>, StoreError> {
    let until = Instant::now() + HEALTHY;
    loop {
        match with_any(endpoints, async |http, endpoint| announce(http, endpoint, peers).await) {
            Err(error) if error.to_string().contains(UNHEALTHY) && Instant::now() < until => thread::sleep(AGAIN),
            announced => return announced,
        }
    }
}

/// Announces a member that will learn from the others; returns the members there were before. A member that was announced and never started is
/// forgotten first.
async fn announce(http: &mut Http, endpoint: &Endpoint, peers: &str) -> Result<Vec<KnownMember>, StoreError> {
    let (started, others): (Vec<_>, Vec<_>) =
        list(http, endpoint).await?.into_iter().partition(|it| !it.name.is_empty());
    for other in others {
        ask(http, endpoint, "/v3/cluster/member/remove", json!({ "ID": other.id }).to_string()).await?;
    }
    let new = json!({ "peerURLs": [peers], "isLearner": true });
    ask(http, endpoint, "/v3/cluster/member/add", new.to_string()).await?;
    Ok(started)
}

/// Checks that every member has a vote; a member that has learned everything gets one. The leader gives the vote: in etcd 3.4 the others do not
/// answer that request.
fn all_vote(endpoints: &[Endpoint]) -> Result<(), StoreError> {
    let leaders = leaders(&Spec::private("etcd"), endpoints)?;
    let leader: Vec<Endpoint> = leaders.into_iter().map(|place| endpoints[place].clone()).collect();
    with_any(&leader, async |http, endpoint| {
        for learner in list(http, endpoint).await?.into_iter().filter(|it| it.is_learner) {
            ask(http, endpoint, "/v3/cluster/member/promote", json!({ "ID": learner.id }).to_string()).await?;
        }
        Ok(())
    })
}

async fn list(http: &mut Http, endpoint: &Endpoint) -> Result<Vec<KnownMember>, StoreError> {
    let listed = ask(http, endpoint, "/v3/cluster/member/list", "{}".into()).await?;
    let listed: MemberList = serde_json::from_slice(&listed).map_err(|error| StoreError::open(endpoint, error))?;
    Ok(listed.members)
}

/// Asks the first of these members that can be reached, with a login. A member that is learning answers no client, and is the last of them.
fn with_any<T>(
    endpoints: &[Endpoint],
    question: impl AsyncFnOnce(&mut Http, &Endpoint) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let [first, ..] = endpoints else { return Err(StoreError::Session("no member of etcd runs".into())) };
    brief(first, PATIENCE, async {
        let tickets = Tickets::of(first, &login::DESK);
        let mut http = open(endpoints, 0, tickets.clone()).await?;
        if let Some(tickets) = &tickets {
            login::log_in(&mut http, first, tickets, Whose::Private).await?;
        }
        question(&mut http, first).await
    })
}
