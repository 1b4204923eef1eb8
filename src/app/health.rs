//! `passerelle health`: whether the hub on this machine is alive, or ready, for a container that has no other program to ask.

use std::net::SocketAddr;

use crate::config::access::from_this_machine;
use crate::egress::guard::{CallLimits, Guard, GuardFault, Schemes};

/// Which probe of the private listener is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    Alive,
    Ready,
}

impl Probe {
    const fn path(self) -> &'static str {
        match self {
            Self::Alive => "/livez",
            Self::Ready => "/readyz",
        }
    }
}

/// Why the answer is no.
#[derive(thiserror::Error, Debug)]
pub enum Unwell {
    #[error(
        "no hub answers at http://{address}{path} ({fault}): start it, or name its private listener: --address HOST:PORT"
    )]
    Silent { address: SocketAddr, path: &'static str, fault: GuardFault },
    #[error("{0}")]
    Says(String),
}

/// Asks the hub whose private listener is at `address`, and gives back what it says.
///
/// # Errors
/// It does not answer, or says no.
pub async fn ask(address: SocketAddr, probe: Probe) -> Result<String, Unwell> {
    let (address, path) = (from_this_machine(address), probe.path());
    let silent = |fault| Unwell::Silent { address, path, fault };
    let guard = Guard::new(Schemes::HttpToo, &[address.ip().to_string()], CallLimits::DEFAULT)
        .map_err(silent)?;
    let request = http::Request::get(format!("http://{address}{path}")).body(Vec::new());
    let answer = guard
        .send(request.map_err(|fault| Unwell::Says(fault.to_string()))?)
        .await
        .map_err(silent)?;
    let said = String::from_utf8_lossy(answer.body()).into_owned();
    if answer.status().is_success() { Ok(said) } else { Err(Unwell::Says(said)) }
}
