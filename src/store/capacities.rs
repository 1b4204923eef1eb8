//! How many records of each kind a store holds.

use super::{RecordKind, Usage};

/// Maximum number of records of each kind, tombstones included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacities {
    pub logins: usize,
    /// Total bytes of the values of all logins.
    pub login_bytes: usize,
    pub sessions: usize,
    /// Codes and tokens share this capacity.
    pub codes_and_tokens: usize,
    pub logout_redirects: usize,
    pub pending_logouts: usize,
    pub used_jtis: usize,
    pub login_page_codes: usize,
    /// Maximum total size of the values of all login page codes, in bytes; a wallet's presentation
    /// takes up to 48 KiB.
    pub login_page_code_bytes: usize,
    pub pushed_requests: usize,
    pub blocks: usize,
    pub probes: usize,
    pub refresh_grants: usize,
    pub logout_notices: usize,
    pub upstream_sessions: usize,
    pub registrations: usize,
    pub wallet_requests: usize,
    /// Total bytes of all requests.
    pub wallet_request_bytes: usize,
}

impl Capacities {
    /// Returns the capacity that applies to a kind.
    pub(super) const fn for_kind(&self, kind: RecordKind) -> Usage {
        let records = match kind {
            RecordKind::Login => {
                return Usage { records: self.logins, bytes: self.login_bytes };
            }
            RecordKind::LoginPageCode => {
                return Usage { records: self.login_page_codes, bytes: self.login_page_code_bytes };
            }
            RecordKind::WalletRequest => {
                return Usage { records: self.wallet_requests, bytes: self.wallet_request_bytes };
            }
            RecordKind::Session => self.sessions,
            RecordKind::Code | RecordKind::Token => self.codes_and_tokens,
            RecordKind::LogoutRedirect => self.logout_redirects,
            RecordKind::PendingLogout => self.pending_logouts,
            RecordKind::UsedJti => self.used_jtis,
            RecordKind::PushedRequest => self.pushed_requests,
            RecordKind::Blocks => self.blocks,
            RecordKind::Probes => self.probes,
            RecordKind::RefreshGrant => self.refresh_grants,
            RecordKind::LogoutNotice => self.logout_notices,
            RecordKind::UpstreamSession => self.upstream_sessions,
            RecordKind::Registration => self.registrations,
        };
        Usage { records, bytes: usize::MAX }
    }
}
