//! Derives the pairwise `sub` of a user for each sector (R037).

use passerelle_federation::Federation;
use passerelle_federation::identity::sub::{KeyVersion, SubjectError, SubjectKeys};
use passerelle_federation::identity::{Identity, SubjectSource};
use passerelle_federation::session::Session;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ConnectorId, Secret, Subject};

/// Derives subject identifiers from the configured source with the hub's keys.
#[derive(Debug)]
pub struct SubjectDeriver {
    pub source: SubjectSource,
    pub keys: SubjectKeys,
}

/// The account of a user at an identity provider.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamAccount<'a> {
    pub connector: &'a ConnectorId,
    /// The identity provider's `sub`.
    pub subject: &'a Secret<String>,
}

impl SubjectDeriver {
    /// Derives the `sub` of a user in a sector, from the account at an identity provider or from
    /// the identity.
    ///
    /// # Errors
    /// `IdentityIncomplete` or `IdTokenSubject` when the source value is missing, `Internal` when
    /// the key version is unknown.
    pub fn derive(
        &self,
        version: KeyVersion,
        sector: &str,
        account: UpstreamAccount<'_>,
        identity: &Identity,
    ) -> Result<Subject, ErrorCode> {
        let derived = match self.source {
            SubjectSource::Pivot => self.keys.derive(version, sector, identity),
            SubjectSource::Provider => {
                let UpstreamAccount { connector, subject } = account;
                self.keys.derive_from_provider(version, sector, connector, subject.reveal())
            }
        };
        derived.map_err(SubjectError::code)
    }

    /// Returns true if both sessions belong to one account, or to one user by the values that `sub`
    /// is derived from. Other claims, such as the e-mail address, are ignored.
    ///
    /// The session of a connector that verifies no identity matches by account only: otherwise its
    /// users could claim another user's identity and take over that user's session.
    pub fn is_same_person(&self, one: &Session, other: &Session, federation: &Federation) -> bool {
        let is_proven = |session: &Session| {
            federation
                .connector(&session.login.connector)
                .is_some_and(|metadata| metadata.proves_identity)
        };
        let is_same_pivot = || {
            self.source == SubjectSource::Pivot
                && self.keys.is_same_person(&one.login.identity, &other.login.identity)
        };
        one.is_same_account(other) || (is_proven(one) && is_proven(other) && is_same_pivot())
    }
}
