//! Texts of the choice page that the operator writes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One heading of the choice page.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// Id for connector files: 1 to 32 characters of a-z, 0-9 and -.
    pub id: String,
    /// Display name, by language (`fr`, `en`).
    #[schemars(extend("examples" = [{"en": "…"}]))]
    pub name: BTreeMap<String, String>,
}

/// Advice for users who have none of the accounts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoAccountText {
    /// Plain text by language: fr = "…", en = "…"; at most 600 characters each.
    pub text: BTreeMap<String, String>,
    /// Absolute https URL of a page with details.
    #[serde(default)]
    pub link: Option<String>,
}
