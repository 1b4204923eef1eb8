//! Checks who administers the hub besides `private.admin_token`, and the hub's peers.

use std::collections::{BTreeMap, BTreeSet};

use url::Url;

use super::settings::{OperatorRole, PrivateListener};
use passerelle_protocol::ids::Secret;
use passerelle_settings::address::{self, PlainHttp};
use passerelle_settings::{Diagnostic, FileCheck, SecretContext, SecretRef, SourceFile, secrets};

/// Minimum length of a token.
const MIN_ADMIN_TOKEN_CHARS: usize = 32;
const MAX_NAME_CHARS: usize = 64;

/// A person who administers the hub, with the person's token.
#[derive(Clone, Debug)]
pub struct OperatorAccount {
    /// Name in the audit log.
    pub name: String,
    /// What the person may do.
    pub role: OperatorRole,
    /// Bearer token.
    pub token: Secret<String>,
}

/// The other hubs, and the token that all of them share.
#[derive(Clone, Debug)]
pub struct PeerAccess {
    /// Bearer token of the hubs among each other.
    pub token: Secret<String>,
    /// The private listeners, by name.
    pub peers: BTreeMap<String, Url>,
}

/// Operators and peers, checked.
#[derive(Clone, Debug, Default)]
pub struct PrivateListenerAccess {
    /// Operators, each with their token.
    pub operators: Vec<OperatorAccount>,
    /// `None` without a token for peers.
    pub peers: Option<PeerAccess>,
}

/// Reads the operators and the peers. `admin_token` is that of `private.admin_token`.
pub fn read_private_access(
    check: &mut FileCheck<'_>,
    private: &PrivateListener,
    admin_token: Option<&Secret<String>>,
    context: &SecretContext<'_>,
) -> PrivateListenerAccess {
    let mut tokens = TokenUses { seen: admin_token.cloned().into_iter().collect() };
    let (mut operators, mut names) = (Vec::new(), BTreeSet::new());
    for (index, entry) in private.operators.iter().enumerate() {
        let key = format!("private.operators[{index}]");
        if !is_operator_name(&entry.name) || !names.insert(entry.name.as_str()) {
            let fix = "use 1 to 64 printable characters, different for each person";
            let message = "is not a valid name, or another operator has it";
            check.report(&format!("{key}.name"), message, fix);
        }
        let key = format!("{key}.token");
        if let Some(token) = check.collect(resolve_token(check.source, &key, &entry.token, context))
        {
            tokens.add(check, &key, &token);
            let (name, role) = (entry.name.clone(), entry.role);
            operators.push(OperatorAccount { name, role, token });
        }
    }
    let peers = read_peers(check, private, context);
    if let Some(peers) = &peers {
        tokens.add(check, "private.peer_token", &peers.token);
    }
    PrivateListenerAccess { operators, peers }
}

/// Returns whether a name is valid: not empty, without outer space, and printable in one log line.
#[expect(clippy::disallowed_methods, reason = "white space of any script is refused")]
fn is_operator_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.chars().count())
        && name.trim() == name
        && !name.chars().any(char::is_control)
}

/// The tokens so far: a token of two roles would have the rights of both.
struct TokenUses {
    seen: Vec<Secret<String>>,
}

impl TokenUses {
    /// Adds the token at `key`, and reports one that is used twice.
    fn add(&mut self, check: &mut FileCheck<'_>, key: &str, token: &Secret<String>) {
        if self.seen.contains(token) {
            let fix = "create another token, for example with `openssl rand -hex 32`";
            check.report(key, "references a token that is used twice", fix);
        }
        self.seen.push(token.clone());
    }
}

fn read_peers(
    check: &mut FileCheck<'_>,
    private: &PrivateListener,
    context: &SecretContext<'_>,
) -> Option<PeerAccess> {
    let mut peers = BTreeMap::new();
    for (name, address) in &private.peers {
        let key = format!("private.peers.{name}");
        let url = address::parse_url_without_query(address, PlainHttp::Anywhere);
        match url {
            Ok(url) if url.path() == "/" && is_operator_name(name) => {
                peers.insert(name.clone(), url);
            }
            Ok(_) => check.report(
                &key,
                "has a path, or a name of more than 64 characters",
                "write the scheme, the host and the port, for example http://10.0.0.2:9090",
            ),
            Err(error) => check.add(error.at(key)),
        }
    }
    let Some(reference) = &private.peer_token else {
        if !private.peers.is_empty() {
            let fix =
                "set it to a token that all hubs share, for example from `openssl rand -hex 32`";
            let message = "is missing, but private.peers names other hubs";
            check.report("private.peer_token", message, fix);
        }
        return None;
    };
    let token = resolve_token(check.source, "private.peer_token", reference, context);
    check.collect(token).map(|token| PeerAccess { token, peers })
}

/// Reads the token that a key of the `private` table references.
///
/// # Errors
/// Returns a diagnostic if the token is missing, too short or not printable ASCII.
pub fn resolve_token(
    source: &SourceFile,
    key: &str,
    reference: &SecretRef,
    context: &SecretContext<'_>,
) -> Result<Secret<String>, Diagnostic> {
    let token = secrets::resolve_secret(source, key, reference, context)?;
    // The token is sent in a header (RFC 6750 §2.1).
    let is_printable = token.reveal().bytes().all(|c| c.is_ascii_graphic());
    if token.reveal().len() < MIN_ADMIN_TOKEN_CHARS || !is_printable {
        let fix = "use at least 32 random characters without spaces, for example from `openssl rand -hex 32`";
        return Err(source.diagnostic(
            key,
            "references a token that is too short or not printable ASCII",
            fix,
        ));
    }
    Ok(token)
}
