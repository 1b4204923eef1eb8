//! How a running hub's administration is reached: its private listener, and the token that opens it.
//!
//! Owns: reading both from `passerelle.toml`, and from nothing else: whoever must block an identity provider at night
//! must not first mend another file of the folder.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::model::{PrivateListener, Settings};
use super::problem::Problem;
use super::secret_rules::{Context, Owner, SecretRules};
use super::source::Source;
use super::{Environment, overlaid, secrets};
use crate::ids::Secret;

/// Shorter ones could be guessed.
const ADMIN_TOKEN_CHARACTERS: usize = 32;

/// What a command needs to know that administers a running hub.
#[derive(Clone, Debug)]
pub struct Access {
    /// Where the private listener is reached from this machine; port 0 is one that only the hub knows.
    pub address: SocketAddr,
    /// `None`: the hub has no administration.
    pub admin_token: Option<Secret<String>>,
    /// The folder of the hub's keys.
    pub keys: PathBuf,
    /// From a signing key's publication to its first signature.
    pub signing_key_lead: Duration,
}

impl Access {
    /// # Errors
    /// What keeps `passerelle.toml`, or the token that it refers to, from being read.
    pub fn read(folder: &Path, environment: &Environment) -> Result<Self, Vec<Problem>> {
        let source =
            Source::read(&folder.join("passerelle.toml")).map_err(|problem| vec![problem])?;
        // A variable that is no setting is no hindrance here.
        let source = overlaid(source, environment, &mut Vec::new());
        let mut problems = Vec::new();
        let Some(settings) = source.shape::<Settings>(&mut problems) else { return Err(problems) };
        let context = Context {
            folder,
            environment,
            secrets: &SecretRules::default(),
            owner: Owner::Settings,
        };
        let admin_token =
            admin_token(&source, &settings.private, &context).map_err(|problem| vec![problem])?;
        Ok(Self {
            address: from_this_machine(settings.private.listen),
            admin_token,
            keys: folder.join(&settings.keys),
            signing_key_lead: settings.lifetimes.signing_key_lead(),
        })
    }
}

/// The token behind `private.admin_token`.
pub(super) fn admin_token(
    source: &Source,
    private: &PrivateListener,
    context: &Context<'_>,
) -> Result<Option<Secret<String>>, Problem> {
    const KEY: &str = "private.admin_token";
    let Some(reference) = &private.admin_token else { return Ok(None) };
    let token = secrets::resolve(source, KEY, reference, context)?;
    // It travels in a header, as RFC 6750, 2.1 writes it.
    let plain = token.reveal().bytes().all(|c| c.is_ascii_graphic());
    if token.reveal().len() < ADMIN_TOKEN_CHARACTERS || !plain {
        let mend = "use at least 32 random characters without blanks, for instance from `openssl rand -hex 32`";
        return Err(source.problem(
            KEY,
            "leads to a token that is too short, or not plain ASCII",
            mend,
        ));
    }
    Ok(Some(token))
}

/// Where a listener on every address is found.
#[must_use]
pub const fn from_this_machine(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_on_every_address_is_reached_on_loopback() {
        for (listen, reached) in [
            ("0.0.0.0:9090", "127.0.0.1:9090"),
            ("[::]:9090", "[::1]:9090"),
            ("10.0.0.7:1", "10.0.0.7:1"),
            ("127.0.0.1:0", "127.0.0.1:0"),
        ] {
            assert_eq!(
                from_this_machine(listen.parse().unwrap()),
                reached.parse().unwrap(),
                "{listen}"
            );
        }
    }
}
