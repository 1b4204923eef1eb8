//! Who administers the hub: tokens, names and roles.
//!
//! Responsible for finding the operator of a token, and for the role that a request needs. Does not
//! limit wrong tokens.

use actix_web::http::Method;

use super::operator_accounts::PrivateListenerAccess;
use super::settings::OperatorRole;
use passerelle_federation::identity::is_forbidden_char;
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;

/// Name of the operator with the token of `private.admin_token`.
pub const ADMIN_TOKEN_NAME: &str = "admin token";

/// POST requests that change nothing: searches carry personal data, which must not be in a URL.
const READ_ONLY_POST_PATHS: [&str; 5] = [
    "/admin/logins/search",
    "/admin/actions/search",
    "/admin/actions/list-grants",
    "/admin/peer/logins/search",
    "/admin/refresh-grants/search",
];

/// An operator, as the audit log names them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operator {
    pub name: String,
    pub role: OperatorRole,
}

/// The operator of a request, and the key of the forms on the pages that a browser gets.
#[derive(Clone, Debug)]
pub struct AdminRequester {
    pub operator: Operator,
    /// `None` if the requester is a program and not a browser.
    pub form_key: Option<Secret<String>>,
}

/// SHA-256 of each token, so that comparing takes the same time for all.
pub struct AdminCredentials {
    operators: Vec<([u8; 32], Operator)>,
    peer: Option<[u8; 32]>,
}

impl AdminCredentials {
    /// Creates the tokens; the operator of `admin_token` may do everything.
    #[must_use]
    pub fn new(admin_token: Option<&Secret<String>>, access: &PrivateListenerAccess) -> Self {
        let hash = |token: &Secret<String>| digest::sha256(token.reveal().as_bytes());
        let shared = admin_token.map(|token| {
            let name = ADMIN_TOKEN_NAME.to_owned();
            (hash(token), Operator { name, role: OperatorRole::Operator })
        });
        let named = access.operators.iter().map(|account| {
            (hash(&account.token), Operator { name: account.name.clone(), role: account.role })
        });
        Self {
            operators: shared.into_iter().chain(named).collect(),
            peer: access.peers.as_ref().map(|peers| hash(&peers.token)),
        }
    }

    /// Returns whether there is no operator, so that there is no administration.
    pub const fn is_empty(&self) -> bool {
        self.operators.is_empty()
    }

    /// Returns the operator of a token. Compares hashes, and all of them, so that timing reveals
    /// neither the length of a token nor whose it is.
    pub fn find(&self, sent: &str) -> Option<Operator> {
        let sent = digest::sha256(sent.as_bytes());
        self.operators.iter().fold(None, |found, (token, operator)| {
            if digest::constant_time_eq(&sent, token) { Some(operator.clone()) } else { found }
        })
    }

    /// Returns whether this is the token of another hub.
    pub fn is_peer(&self, sent: &str) -> bool {
        let sent = digest::sha256(sent.as_bytes());
        self.peer.as_ref().is_some_and(|token| digest::constant_time_eq(&sent, token))
    }

    /// Returns whether other hubs may ask.
    pub const fn admits_peers(&self) -> bool {
        self.peer.is_some()
    }
}

/// Returns the role that a request needs: everything that is not known to only read needs the
/// role of an operator.
pub fn required_role(method: &Method, path: &str) -> OperatorRole {
    let is_read =
        matches!(*method, Method::GET | Method::HEAD) || READ_ONLY_POST_PATHS.contains(&path);
    if is_read { OperatorRole::Viewer } else { OperatorRole::Operator }
}

/// Returns a reason that the audit log can record, without blanks around it: 5 to 200 printable
/// characters.
#[expect(clippy::disallowed_methods, reason = "a reason is text that people write")]
pub fn validate_reason(reason: &str) -> Option<&str> {
    let reason = reason.trim();
    let is_line = !reason.chars().any(is_forbidden_char);
    (is_line && (5..=200).contains(&reason.chars().count())).then_some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator_accounts::{OperatorAccount, PeerAccess};

    fn tokens() -> AdminCredentials {
        let secret = |text: &str| Secret::new(text.to_owned());
        let account = |name: &str, role, token: &str| OperatorAccount {
            name: name.to_owned(),
            role,
            token: secret(token),
        };
        let access = PrivateListenerAccess {
            operators: vec![
                account("alice", OperatorRole::Operator, "a"),
                account("vera", OperatorRole::Viewer, "v"),
            ],
            peers: Some(PeerAccess {
                token: secret("p"),
                peers: std::collections::BTreeMap::new(),
            }),
        };
        AdminCredentials::new(Some(&secret("root")), &access)
    }

    #[test]
    fn each_token_names_its_operator_and_no_other() {
        let tokens = tokens();
        let found = |sent| tokens.find(sent).map(|operator| (operator.name, operator.role));
        assert_eq!(found("root"), Some((ADMIN_TOKEN_NAME.to_owned(), OperatorRole::Operator)));
        assert_eq!(found("a"), Some(("alice".to_owned(), OperatorRole::Operator)));
        assert_eq!(found("v"), Some(("vera".to_owned(), OperatorRole::Viewer)));
        for wrong in ["", "r", "roots", "p"] {
            assert_eq!(found(wrong), None, "{wrong}");
        }
    }

    /// Attack: the token of another hub administers this one, or an operator's token poses as one.
    #[test]
    fn a_peers_token_is_no_operators_and_the_reverse() {
        let tokens = tokens();
        assert!(tokens.is_peer("p") && tokens.find("p").is_none());
        assert!(!["root", "a", "v", ""].iter().any(|sent| tokens.is_peer(sent)));
    }

    #[test]
    fn every_change_needs_the_role_of_an_operator() {
        for (method, path, role) in [
            (Method::GET, "/admin/status", OperatorRole::Viewer),
            (Method::POST, "/admin/logins/search", OperatorRole::Viewer),
            (Method::POST, "/admin/blocks", OperatorRole::Operator),
            (Method::DELETE, "/admin/blocks/x", OperatorRole::Operator),
            (Method::POST, "/admin/anything/new", OperatorRole::Operator),
            (Method::DELETE, "/admin/logins/search/x", OperatorRole::Operator),
        ] {
            assert_eq!(required_role(&method, path), role, "{method} {path}");
        }
    }

    #[test]
    fn a_reason_is_one_printable_line() {
        assert_eq!(validate_reason("  ticket 4711 "), Some("ticket 4711"));
        for bad in
            ["", "    ", "x", "a\nsecond line", "a\u{7}bell", "a\u{202e}esrever", &"x".repeat(201)]
        {
            assert_eq!(validate_reason(bad), None, "{bad:?}");
        }
    }
}
