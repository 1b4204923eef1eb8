//! How many records and bytes of each kind a store holds.

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

/// Minimum of a capacity in bytes: a few records of the largest size always fit.
const MIN_BYTES: usize = 1 << 20;

impl Capacities {
    /// Returns the capacity that applies to a kind.
    #[must_use]
    pub const fn for_kind(&self, kind: RecordKind) -> Usage {
        match kind {
            RecordKind::Login => Usage { records: self.logins, bytes: self.login_bytes },
            RecordKind::LoginPageCode => {
                Usage { records: self.login_page_codes, bytes: self.login_page_code_bytes }
            }
            RecordKind::WalletRequest => {
                Usage { records: self.wallet_requests, bytes: self.wallet_request_bytes }
            }
            // An upstream ID token takes most of a session.
            RecordKind::Session => with_average_bytes(self.sessions, 4096),
            RecordKind::Code | RecordKind::Token => with_average_bytes(self.codes_and_tokens, 2048),
            RecordKind::LogoutRedirect => with_average_bytes(self.logout_redirects, 2048),
            RecordKind::PendingLogout => with_average_bytes(self.pending_logouts, 4096),
            RecordKind::UsedJti => with_average_bytes(self.used_jtis, 64),
            // Requests of all lengths up to 16 KiB share what as many short ones take.
            RecordKind::PushedRequest => with_average_bytes(self.pushed_requests, 512),
            RecordKind::Blocks => with_average_bytes(self.blocks, 1 << 20),
            RecordKind::Probes => with_average_bytes(self.probes, 64 << 10),
            RecordKind::RefreshGrant => with_average_bytes(self.refresh_grants, 2048),
            RecordKind::LogoutNotice => with_average_bytes(self.logout_notices, 64 << 10),
            RecordKind::UpstreamSession => with_average_bytes(self.upstream_sessions, 512),
            // The index of all registrations is one of the records.
            RecordKind::Registration => with_average_bytes(self.registrations, 32 << 10),
        }
    }
}

/// Returns the capacity for so many records whose values have this size on average.
const fn with_average_bytes(records: usize, average: usize) -> Usage {
    let bytes = records.saturating_mul(average);
    Usage { records, bytes: if bytes < MIN_BYTES { MIN_BYTES } else { bytes } }
}
