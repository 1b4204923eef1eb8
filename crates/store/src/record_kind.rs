//! Kinds of records.

use super::Usage;

/// Kind of a record, declared once, by the crate that stores such records. A store holds the kinds
/// that its [`Capacities`](super::Capacities) list.
#[derive(derive_more::Debug)]
#[debug("{name}")]
pub struct RecordKind {
    /// Label in metrics.
    pub name: &'static str,
    /// Letter in keys and snapshots. It never changes, and no other kind has it.
    pub letter: u8,
    /// Label of its capacity in metrics. Kinds with the same label share one capacity.
    pub pool: &'static str,
    /// Size of an average value: so many bytes for each record that the pool may hold.
    pub average_bytes: usize,
    pub retention: RecordRetention,
}

/// What a store must know about the records of a kind besides their size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordRetention {
    /// The records end with the login that made them, or soon after.
    Short,
    /// The records outlive their login by far. The memory store compresses them.
    Long,
    /// The records prevent a replay: a snapshot restores them even over capacity. They expire
    /// within minutes.
    ReplayProtection,
    /// The records exchange state between hubs. Snapshots leave them out.
    HubState,
}

/// Minimum of a capacity in bytes: a few records of the largest size always fit.
const MIN_POOL_BYTES: usize = 1 << 20;

impl RecordKind {
    pub const LOGIN: &'static Self = &Self::new("login", b'l', "logins", 4096);
    /// An upstream ID token takes most of a session.
    pub const SESSION: &'static Self =
        &Self::new("session", b's', "sessions", 4096).with_retention(RecordRetention::Long);
    pub const CODE: &'static Self = &Self::new("code", b'c', "codes_and_tokens", 2048);
    pub const TOKEN: &'static Self = &Self::new("token", b't', "codes_and_tokens", 2048);
    /// Where the browser goes after a logout at its identity provider; and the redirect that a
    /// repeated logout request gets again.
    pub const LOGOUT_REDIRECT: &'static Self =
        &Self::new("logout_redirect", b'o', "logout_redirects", 2048);
    /// A cross-site POST, of a logout request or of an identity provider's authorization response,
    /// until the browser continues it with its cookies.
    pub const PENDING_LOGOUT: &'static Self =
        &Self::new("pending_logout", b'p', "pending_logouts", 4096);
    /// A used `jti`: of a client assertion (RFC 7523 §3), a request object (RFC 9101) or a DPoP
    /// proof (RFC 9449 §11.1).
    pub const USED_JTI: &'static Self = &Self::new("used_jti", b'a', "used_jtis", 64)
        .with_retention(RecordRetention::ReplayProtection);
    /// The user verified by a login page of the hub, until its callback.
    pub const LOGIN_PAGE_CODE: &'static Self =
        &Self::new("login_page_code", b'i', "login_page_codes", 2048);
    /// A pushed authorization request, until a login starts with it (RFC 9126 §4). Requests of all
    /// lengths up to 16 KiB share what as many short ones take.
    pub const PUSHED_REQUEST: &'static Self =
        &Self::new("pushed_request", b'r', "pushed_requests", 512);
    /// Operator blocks and the last checkpoint of each audit log, one record each.
    pub const BLOCKS: &'static Self =
        &Self::new("blocks", b'b', "blocks", 1 << 20).with_retention(RecordRetention::HubState);
    /// Which hub does what for all: the one that probes the identity providers, with its results; one
    /// that admits logins; the one that rotates the keys.
    pub const PROBES: &'static Self =
        &Self::new("probes", b'h', "probes", 64 << 10).with_retention(RecordRetention::HubState);
    /// A grant whose access tokens a refresh token renews.
    pub const REFRESH_GRANT: &'static Self =
        &Self::new("refresh_grant", b'g', "refresh_grants", 2048)
            .with_retention(RecordRetention::Long);
    /// Logout tokens that are still to be delivered, several in one record.
    pub const LOGOUT_NOTICE: &'static Self =
        &Self::new("logout_notice", b'w', "logout_notices", 64 << 10);
    /// The sessions of an upstream `sub` or `sid`, and the used `jti` of logout tokens.
    pub const UPSTREAM_SESSION: &'static Self =
        &Self::new("upstream_session", b'u', "upstream_sessions", 512);

    /// The kinds of the hub itself. Optional crates declare more.
    pub const HUB_KINDS: &'static [&'static Self] = &[
        Self::LOGIN,
        Self::SESSION,
        Self::CODE,
        Self::TOKEN,
        Self::LOGOUT_REDIRECT,
        Self::PENDING_LOGOUT,
        Self::USED_JTI,
        Self::LOGIN_PAGE_CODE,
        Self::PUSHED_REQUEST,
        Self::BLOCKS,
        Self::PROBES,
        Self::REFRESH_GRANT,
        Self::LOGOUT_NOTICE,
        Self::UPSTREAM_SESSION,
    ];

    /// Creates a kind of short-lived records.
    pub const fn new(
        name: &'static str,
        letter: u8,
        pool: &'static str,
        average_bytes: usize,
    ) -> Self {
        Self { name, letter, pool, average_bytes, retention: RecordRetention::Short }
    }

    /// Sets the retention.
    #[must_use]
    pub const fn with_retention(self, retention: RecordRetention) -> Self {
        Self { retention, ..self }
    }

    /// Returns the capacity for so many records of average size.
    pub fn usage_of(&self, records: usize) -> Usage {
        Usage { records, bytes: records.saturating_mul(self.average_bytes).max(MIN_POOL_BYTES) }
    }
}

impl PartialEq for RecordKind {
    fn eq(&self, other: &Self) -> bool {
        self.letter == other.letter
    }
}

impl Eq for RecordKind {}

impl std::hash::Hash for RecordKind {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.letter.hash(state);
    }
}
