//! A login whose service provider's file no longer holds what its request passed the checks with: the redirect URI or a
//! scope was removed while the person was signing in.
//!
//! Owns: what becomes of such a login. Must not know: where registrations come from.

use super::{Answer, State, Step, Ticket, Way, World};
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
    /// A page, for as long as the redirect URI is not registered: neither a code nor an error travels to it (RFC 9700
    /// §4.11). The login stays where it stands, and goes on once the file is corrected.
    pub(super) fn without_redirect(ticket: Ticket, state: State) -> Self {
        Self::stay(ticket, state, Answer::problem(ErrorCode::RedirectUriWithdrawn, Way::HomePage))
    }
}
