//! A login whose service provider's file no longer holds what its request passed the checks with: the redirect URI or a
//! scope was removed while the person was signing in.
//!
//! Owns: what becomes of such a login. Must not know: where registrations come from.

use super::{Answer, Banner, Choosing, State, Step, Ticket, Way, World};
use crate::protocol::catalogue::ErrorCode;

impl Ticket {
    pub(super) fn is_redirect_withdrawn(&self, world: &World<'_>) -> bool {
        (world.registered)(&self.request) == Err(ErrorCode::RedirectUriWithdrawn)
    }

    pub(super) fn is_scope_withdrawn(&self, world: &World<'_>) -> bool {
        (world.registered)(&self.request) == Err(ErrorCode::ScopeWithdrawn)
    }
}

impl Step {
    /// Answers a request with a page, for as long as the redirect URI is not registered: neither a code nor an error
    /// travels to it (RFC 9700 §4.11). The login keeps its state, and continues once the file is corrected.
    pub(super) fn without_redirect(ticket: Ticket, state: State) -> Self {
        Self::stay(ticket, state, Answer::problem(ErrorCode::RedirectUriWithdrawn, Way::HomePage))
    }

    /// Answers a report with the same page. The report is discarded, and the authorization code of an attempt can't be
    /// redeemed again: the attempt is closed, and the person chooses an identity provider again once the file is corrected.
    pub(super) fn without_redirect_after_report(ticket: Ticket, state: State) -> Self {
        if !matches!(state, State::Leaving(_) | State::Verifying(_) | State::Identifying(_)) {
            return Self::without_redirect(ticket, state);
        }
        let banner = Banner { connector: None, code: ErrorCode::Interrupted };
        let state = State::Choosing(Choosing { banner: Some(banner) });
        Self::settle(ticket, state, Answer::problem(ErrorCode::RedirectUriWithdrawn, Way::HomePage))
    }
}
