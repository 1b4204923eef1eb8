//! Who a person is, to each of those who may ask: one `sub` for each sector (R037; decisions 7).

use crate::config::Federation;
use crate::config::model::SubjectSource;
use crate::identity::Identity;
use crate::identity::sub::{KeyVersion, SubjectFault, SubjectKeys};
use crate::ids::Subject;
use crate::login::upstream::Authentication;
use crate::protocol::catalogue::ErrorCode;
use crate::session::Session;

/// What a `sub` is derived from, and with.
#[derive(Debug)]
pub struct Subjects {
    pub source: SubjectSource,
    pub keys: SubjectKeys,
}

impl Subjects {
    /// The `sub` of a person in a sector.
    ///
    /// # Errors
    /// The identity lacks what it is derived from, or there is no such key.
    pub fn of(
        &self,
        version: KeyVersion,
        sector: &str,
        authentication: &Authentication,
        identity: &Identity,
    ) -> Result<Subject, ErrorCode> {
        let derived = match self.source {
            SubjectSource::Pivot => self.keys.derive(version, sector, identity),
            SubjectSource::Provider => {
                let upstream = authentication.upstream_subject.reveal();
                self.keys.derive_from_provider(version, sector, &authentication.connector, upstream)
            }
        };
        derived.map_err(SubjectFault::code)
    }

    /// Returns true if both sessions are of one account, or of one person by what `sub` is derived from. What doesn't make
    /// the subject, such as an e-mail address, doesn't count.
    ///
    /// A connector that verifies no identity proves an account alone: its users could claim to be the person of any session.
    #[must_use]
    pub fn is_same_person(&self, one: &Session, other: &Session, federation: &Federation) -> bool {
        let is_proven = |session: &Session| {
            federation.connector(&session.connector).is_some_and(|facts| facts.proves_identity)
        };
        let is_same_pivot = || {
            self.source == SubjectSource::Pivot
                && self.keys.is_same_person(&one.identity, &other.identity)
        };
        one.is_same_account(other) || (is_proven(one) && is_proven(other) && is_same_pivot())
    }
}
