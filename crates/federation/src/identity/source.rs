//! Where identities come from, and what `sub` is derived from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Source of identities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IdentitySource {
    /// The national register, as the specification requires on the standard platform.
    #[default]
    Register,
    /// The identity provider, unconfirmed. It deviates from the specification, and every start logs
    /// a warning.
    Provider,
}

/// What `sub` is derived from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SubjectSource {
    /// The pivot identity: a user has the same `sub` with every identity provider.
    #[default]
    Pivot,
    /// The connector and the upstream `sub`, for identity providers without a pivot identity.
    Provider,
}
