//! Kinds of records.

/// Kind of a record. Each kind has its own capacity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecordKind {
    Login,
    Session,
    Code,
    Token,
    /// Where the browser goes after a logout at its identity provider; and the redirect that a
    /// repeated logout request gets again.
    LogoutRedirect,
    /// A cross-site POST, of a logout request or of an identity provider's authorization response,
    /// until the browser continues it with its cookies.
    PendingLogout,
    /// A used `jti`: of a client assertion (RFC 7523 §3), a request object (RFC 9101) or a DPoP
    /// proof (RFC 9449 §11.1).
    UsedJti,
    /// The user verified by a login page of the hub, until its callback.
    LoginPageCode,
    /// A pushed authorization request, until a login starts with it (RFC 9126 §4).
    PushedRequest,
    /// Operator blocks and the last checkpoint of each audit log, one record each.
    Blocks,
    /// The hub that probes the identity providers, and its results: one record.
    Probes,
    /// A grant whose access tokens a refresh token renews.
    RefreshGrant,
    /// Logout tokens that are still to be delivered, several in one record.
    LogoutNotice,
    /// The sessions of an upstream `sub` or `sid`, and the used `jti` of logout tokens.
    UpstreamSession,
    /// Dynamically registered clients, and the index of them and of initial access tokens.
    Registration,
    /// A presentation request that was sent to a wallet, until its login continues.
    WalletRequest,
}

/// All kinds.
pub const RECORD_KINDS: [RecordKind; 16] = [
    RecordKind::Login,
    RecordKind::Session,
    RecordKind::Code,
    RecordKind::Token,
    RecordKind::LogoutRedirect,
    RecordKind::PendingLogout,
    RecordKind::UsedJti,
    RecordKind::LoginPageCode,
    RecordKind::PushedRequest,
    RecordKind::Blocks,
    RecordKind::Probes,
    RecordKind::RefreshGrant,
    RecordKind::LogoutNotice,
    RecordKind::UpstreamSession,
    RecordKind::Registration,
    RecordKind::WalletRequest,
];

impl RecordKind {
    /// Returns the letter of the kind in keys and snapshots. It never changes.
    pub(super) const fn letter(self) -> u8 {
        match self {
            Self::Login => b'l',
            Self::Session => b's',
            Self::Code => b'c',
            Self::Token => b't',
            Self::LogoutRedirect => b'o',
            Self::PendingLogout => b'p',
            Self::UsedJti => b'a',
            Self::LoginPageCode => b'i',
            Self::PushedRequest => b'r',
            Self::Blocks => b'b',
            Self::Probes => b'h',
            Self::RefreshGrant => b'g',
            Self::LogoutNotice => b'w',
            Self::UpstreamSession => b'u',
            Self::Registration => b'n',
            Self::WalletRequest => b'v',
        }
    }

    /// Returns whether records of this kind only exchange state between hubs. Snapshots leave them
    /// out.
    pub(super) const fn is_hub_state(self) -> bool {
        matches!(self, Self::Blocks | Self::Probes)
    }

    /// Returns whether records of this kind outlive the login that made them by far.
    pub(super) const fn is_long_lived(self) -> bool {
        matches!(self, Self::Session | Self::RefreshGrant)
    }

    pub(super) fn from_letter(letter: u8) -> Option<Self> {
        RECORD_KINDS.into_iter().find(|kind| kind.letter() == letter)
    }
}
