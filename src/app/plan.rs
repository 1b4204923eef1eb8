//! `passerelle plan`: what a running hub has in use, asked over its private listener; and what it would refuse.

use std::net::SocketAddr;

use super::BuildFault;
use super::codes::Codes;
use super::prepare::{connector_means, plan};
use crate::config::Loaded;
use crate::config::access::from_this_machine;
use crate::config::outline::Outline;
use crate::egress::guard::{CallLimits, Guard, GuardFault, Schemes};
use crate::env::Env;
use crate::web::private::DIGEST;

/// Tens of thousands of service providers fit.
const LIMITS: CallLimits = CallLimits { body: 64 * 1024 * 1024, ..CallLimits::DEFAULT };

/// Why it is not known what is in use.
#[derive(thiserror::Error, Debug)]
pub enum NotInUse {
    #[error(
        "no hub answers at http://{address}{DIGEST} ({fault}): start it, or name a folder to hold the files against: --against DIR"
    )]
    Silent { address: SocketAddr, fault: GuardFault },
    #[error(
        "what answers at http://{0}{DIGEST} is no hub of this version: upgrade it, or use --against DIR"
    )]
    NoHub(SocketAddr),
}

/// What the hub that listens here has in use.
///
/// # Errors
/// None answers.
pub async fn in_use(listen: SocketAddr) -> Result<Outline, NotInUse> {
    let address = from_this_machine(listen);
    let silent = |fault| NotInUse::Silent { address, fault };
    let guard =
        Guard::new(Schemes::HttpToo, &[address.ip().to_string()], LIMITS).map_err(silent)?;
    let request = http::Request::get(format!("http://{address}{DIGEST}")).body(Vec::new());
    let answer =
        guard.send(request.map_err(|_| NotInUse::NoHub(address))?).await.map_err(silent)?;
    match answer.status().as_u16() {
        200 => serde_json::from_slice(answer.body()).map_err(|_| NotInUse::NoHub(address)),
        _ => Err(NotInUse::NoHub(address)),
    }
}

/// Connectors that are well described and could not work all the same.
#[must_use]
pub fn faults(loaded: &Loaded, env: &Env) -> Vec<BuildFault> {
    let means = connector_means(loaded, env, None, &Codes::default());
    let connectors = loaded.files.connectors();
    connectors
        .values()
        .filter_map(|(configured, fields)| plan(configured, fields, &means).err())
        .collect()
}
