//! Defines `scopes.toml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use passerelle_protocol::ids::Scope;

/// Claims by scope.
pub type Scopes = BTreeMap<Scope, Vec<String>>;

/// The scopes file: `config/scopes.toml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopesFile {
    /// Claims by scope, instead of the built-in table, which applies without this one. `openid` is
    /// required and must contain `sub`.
    #[serde(default)]
    pub scopes: Option<Scopes>,
    /// Claims by scope for service providers under `rules = "openid"`, in addition to the table of
    /// OpenID Connect Core 1.0 §5.4. A scope of that table has these claims instead.
    #[serde(default)]
    pub openid: Scopes,
}
