//! L1 · Who a person is: the pivot identity, its rules, scopes and claims, the pairwise `sub` (decisions 7).
//!
//! Owns: which claims exist and when an identity is whole. Must not know: where it came from.

use serde::{Deserialize, Serialize};

/// An identity that keeps the rules of decisions 7. Built only by the checks of this module.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Given names, in order; may be empty if `family_name` is there.
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
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity(***)")
    }
}
