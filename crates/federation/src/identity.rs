//! The user's identity: the pivot identity, its rules, scopes and claims, and the pairwise `sub`
//! (`docs/integrate/scopes-and-claims.md`).
//!
//! - [`declared`]: claims that the operator declares beyond the specification's.
//! - [`mapping`]: renames and transforms an identity provider's claims.
//! - [`rules`]: validates claims into an [`Identity`], or names the claim and the rule that it
//!   breaks.
//! - [`pivot`]: the normalised form in which two spellings of one user are equal; `sub` and the
//!   register share it.
//! - [`sub`]: derives the pairwise subject identifier.
//! - [`scopes`]: the claims that a scope releases.
//! - [`standard`]: standard claims that are not part of a pivot identity.

mod claim;
mod claim_rules;
mod claim_type;
pub mod declared;
pub mod mapping;
pub mod pivot;
pub mod rules;
pub mod scopes;
mod source;
pub mod standard;
pub mod sub;

pub use claim::{Claim, ClaimName, DeclaredValues, StandardClaims};
pub use claim_rules::{DroppedClaim, IdentityError, IdentityRule, is_forbidden_char};
pub use claim_type::{ClaimType, describe_type};
use serde::{Deserialize, Serialize};
pub use source::{IdentitySource, SubjectSource};

/// A validated identity. Created only by the checks of this module.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Debug)]
#[debug("Identity(***)")]
pub struct Identity {
    /// Given names in order; may be empty if `family_name` is present.
    pub given_names: Vec<String>,
    pub family_name: Option<String>,
    /// `YYYY-MM-DD`, `YYYY-MM-00` or `YYYY-00-00`.
    pub birthdate: Option<String>,
    /// `male`, `female` or `unspecified`.
    pub gender: Option<String>,
    /// Five-character geographic code.
    pub birthplace: Option<String>,
    pub birthcountry: Option<String>,
    pub email: Option<String>,
    pub preferred_username: Option<String>,
    /// Other standard claims, for service providers under `rules = "openid"`.
    #[serde(default, skip_serializing_if = "StandardClaims::is_empty")]
    pub standard: StandardClaims,
    /// Claims that the operator declares; from the identity provider alone.
    #[serde(default, skip_serializing_if = "DeclaredValues::is_empty")]
    pub declared: DeclaredValues,
}

impl Identity {
    /// Returns the claim `given_name`: all given names joined by one space (R052). `None` without
    /// any.
    pub fn given_name(&self) -> Option<String> {
        (!self.given_names.is_empty()).then(|| self.given_names.join(" "))
    }

    /// Returns this register identity with the `email`, `preferred_username` and declared claims of
    /// the identity provider, for service providers of the standard platform. Standard claims about
    /// the civil identity are dropped: there the register is the only source.
    #[must_use]
    pub fn with_contact_claims_from(self, provider: &Self) -> Self {
        Self {
            email: provider.email.clone(),
            preferred_username: provider.preferred_username.clone(),
            standard: standard::without_civil_identity(&provider.standard),
            declared: provider.declared.clone(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples;

    #[test]
    fn an_identity_never_prints_itself() {
        assert_eq!(format!("{:?}", samples::angela()), "Identity(***)");
    }

    #[test]
    fn the_register_does_not_erase_what_only_the_provider_knows() {
        let register = Identity { email: Some("register@example.org".into()), ..samples::angela() };
        let provider =
            Identity { preferred_username: Some("angie".into()), email: None, ..samples::angela() };
        let delivered = register.with_contact_claims_from(&provider);
        assert_eq!(
            (delivered.email, delivered.preferred_username.as_deref()),
            (None, Some("angie"))
        );
    }

    #[test]
    fn a_flag_of_the_provider_does_not_vouch_for_an_address_of_the_register() {
        let register = Identity { email: Some("register@example.org".into()), ..samples::angela() };
        let provider = Identity {
            email: Some("provider@example.org".into()),
            standard: [(Claim::EmailVerified, true.into())].into(),
            ..samples::angela()
        };
        let delivered = register.with_contact_claims_from(&provider);
        assert_eq!(delivered.email.as_deref(), Some("provider@example.org"));
        assert_eq!(delivered.standard, provider.standard);
    }

    #[test]
    fn the_provider_adds_no_civil_identity_to_the_registers() {
        let said: StandardClaims = [
            (Claim::Name, "Someone Else".into()),
            (Claim::MiddleName, "X".into()),
            (Claim::Nickname, "Angie".into()),
        ]
        .into();
        let delivered = samples::angela()
            .with_contact_claims_from(&Identity { standard: said, ..samples::angela() });
        assert_eq!(delivered.standard, StandardClaims::from([(Claim::Nickname, "Angie".into())]));
        assert_eq!(standard::full_name(&delivered), Some("Angela Claire Louise DUBOIS".into()));
    }

    #[test]
    fn claims_are_called_alike_in_files_and_on_the_wire() {
        for claim in Claim::all() {
            assert_eq!(serde_json::to_value(claim).unwrap(), claim.as_str());
        }
    }
}
