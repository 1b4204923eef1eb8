//! Holds one value for each kind of record.

use super::{RECORD_KINDS, RecordKind};

/// One value for each kind of record.
pub struct ByKind<T> {
    login: T,
    session: T,
    code: T,
    token: T,
    logout_redirect: T,
    pending_logout: T,
    used_jti: T,
    login_page_code: T,
    pushed_request: T,
    blocks: T,
    probes: T,
    refresh_grant: T,
    logout_notice: T,
    upstream_session: T,
    registration: T,
    wallet_request: T,
}

impl<T> ByKind<T> {
    /// Makes the value of each kind.
    pub fn new(make: impl Fn(RecordKind) -> T) -> Self {
        Self {
            login: make(RecordKind::Login),
            session: make(RecordKind::Session),
            code: make(RecordKind::Code),
            token: make(RecordKind::Token),
            logout_redirect: make(RecordKind::LogoutRedirect),
            pending_logout: make(RecordKind::PendingLogout),
            used_jti: make(RecordKind::UsedJti),
            login_page_code: make(RecordKind::LoginPageCode),
            pushed_request: make(RecordKind::PushedRequest),
            blocks: make(RecordKind::Blocks),
            probes: make(RecordKind::Probes),
            refresh_grant: make(RecordKind::RefreshGrant),
            logout_notice: make(RecordKind::LogoutNotice),
            upstream_session: make(RecordKind::UpstreamSession),
            registration: make(RecordKind::Registration),
            wallet_request: make(RecordKind::WalletRequest),
        }
    }

    /// Returns the value of a kind.
    pub const fn get(&self, kind: RecordKind) -> &T {
        match kind {
            RecordKind::Login => &self.login,
            RecordKind::Session => &self.session,
            RecordKind::Code => &self.code,
            RecordKind::Token => &self.token,
            RecordKind::LogoutRedirect => &self.logout_redirect,
            RecordKind::PendingLogout => &self.pending_logout,
            RecordKind::UsedJti => &self.used_jti,
            RecordKind::LoginPageCode => &self.login_page_code,
            RecordKind::PushedRequest => &self.pushed_request,
            RecordKind::Blocks => &self.blocks,
            RecordKind::Probes => &self.probes,
            RecordKind::RefreshGrant => &self.refresh_grant,
            RecordKind::LogoutNotice => &self.logout_notice,
            RecordKind::UpstreamSession => &self.upstream_session,
            RecordKind::Registration => &self.registration,
            RecordKind::WalletRequest => &self.wallet_request,
        }
    }

    /// Iterates over the values of all kinds.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        RECORD_KINDS.iter().map(|kind| self.get(*kind))
    }
}
