//! Which claims a scope releases (decisions 7): data that an operator may extend, `config/scopes.toml`.
//!
//! Owns: the table, and the claims of an identity under a list of scopes. Must not know: who asks, or what was granted.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Claim, Identity};
use crate::ids::Scope;

/// Scope → the claims that it releases. `ScopeTable::default()` is the built-in one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeTable {
    scopes: BTreeMap<Scope, BTreeSet<Claim>>,
}

/// Why a scope table is unusable, and how to mend it.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum ScopeTableFault {
    #[error("{0}")]
    Shape(String),
    #[error("`openid` must release `sub`: write `openid = [\"sub\"]` under [scopes]")]
    OpenidWithoutSub,
    #[error("`{0}` is no scope value: use printable ASCII without space, quotation mark and backslash")]
    Value(Scope),
    #[error("`{0}` releases `sub`, which belongs to `openid` alone: remove it there")]
    StraySub(Scope),
}

impl ScopeTable {
    /// Reads `config/scopes.toml`.
    ///
    /// # Errors
    /// Not TOML, an unknown key or claim, or a table that breaks OpenID Connect.
    pub fn from_toml(text: &str) -> Result<Self, ScopeTableFault> {
        toml::from_str::<Self>(text).map_err(|fault| ScopeTableFault::Shape(fault.to_string()))?.checked()
    }

    /// The table from names, as the configuration holds them.
    ///
    /// # Errors
    /// A claim that doesn't exist, or a table that breaks OpenID Connect.
    pub fn from_names(names: &BTreeMap<Scope, Vec<String>>) -> Result<Self, ScopeTableFault> {
        let claim =
            |name: &String| Claim::named(name).ok_or_else(|| ScopeTableFault::Shape(format!("there is no claim `{name}`")));
        let row =
            |(scope, names): (&Scope, &Vec<String>)| Ok((scope.clone(), names.iter().map(claim).collect::<Result<_, _>>()?));
        Self { scopes: names.iter().map(row).collect::<Result<_, _>>()? }.checked()
    }

    fn checked(self) -> Result<Self, ScopeTableFault> {
        let table = self;
        for (scope, claims) in &table.scopes {
            // RFC 6749, 3.3
            if scope.as_str().is_empty() || !scope.as_str().bytes().all(|c| matches!(c, 0x21 | 0x23..=0x5b | 0x5d..=0x7e)) {
                return Err(ScopeTableFault::Value(scope.clone()));
            }
            if scope.as_str() != OPENID && claims.contains(&Claim::Sub) {
                return Err(ScopeTableFault::StraySub(scope.clone()));
            }
        }
        let openid_is_sound = table.scopes.get(OPENID).is_some_and(|claims| claims.contains(&Claim::Sub));
        if openid_is_sound { Ok(table) } else { Err(ScopeTableFault::OpenidWithoutSub) }
    }

    /// A scope outside the table is ignored at authorize (decisions 3).
    #[must_use]
    pub fn known(&self, scope: &Scope) -> bool {
        self.scopes.contains_key(scope)
    }

    /// Every scope, for discovery.
    pub fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.scopes.keys()
    }

    /// The claims that these scopes release, `sub` included, whether an identity has a value for them or not.
    #[must_use]
    pub fn claim_names(&self, scopes: &[Scope]) -> BTreeSet<Claim> {
        scopes.iter().filter_map(|scope| self.scopes.get(scope)).flatten().copied().collect()
    }

    /// Every claim that some scope releases, for discovery.
    #[must_use]
    pub fn all_claim_names(&self) -> BTreeSet<Claim> {
        self.scopes.values().flatten().copied().collect()
    }

    /// The claims of a person under these scopes, except `sub`, which is derived for the service provider and not in
    /// an identity. A claim without a value is left out, never null.
    #[must_use]
    pub fn claims(&self, scopes: &[Scope], identity: &Identity) -> Map<String, Value> {
        let names = self.claim_names(scopes).into_iter();
        names.filter_map(|claim| Some((claim.as_str().to_owned(), value(claim, identity)?))).collect()
    }
}

const OPENID: &str = "openid";

fn value(claim: Claim, identity: &Identity) -> Option<Value> {
    let text = |value: &Option<String>| value.clone().map(Value::String);
    match claim {
        Claim::Sub => None,
        Claim::GivenName => identity.given_name().map(Value::String),
        Claim::GivenNameArray => (!identity.given_names.is_empty()).then(|| identity.given_names.clone().into()),
        Claim::FamilyName => text(&identity.family_name),
        Claim::Birthdate => text(&identity.birthdate),
        Claim::Gender => text(&identity.gender),
        Claim::Birthplace => text(&identity.birthplace),
        Claim::Birthcountry => text(&identity.birthcountry),
        Claim::Email => text(&identity.email),
        Claim::PreferredUsername => text(&identity.preferred_username),
    }
}

impl Default for ScopeTable {
    /// The table of decisions 7, the same as `config/scopes.toml`.
    fn default() -> Self {
        use Claim::{
            Birthcountry, Birthdate, Birthplace, Email, FamilyName, Gender, GivenName, GivenNameArray, PreferredUsername, Sub,
        };
        let table: [(&str, &[Claim]); 12] = [
            (OPENID, &[Sub]),
            ("given_name", &[GivenName, GivenNameArray]),
            ("family_name", &[FamilyName]),
            ("gender", &[Gender]),
            ("birthdate", &[Birthdate]),
            ("birthplace", &[Birthplace]),
            ("birthcountry", &[Birthcountry]),
            ("email", &[Email]),
            ("preferred_username", &[PreferredUsername]),
            ("profile", &[GivenName, GivenNameArray, FamilyName, Birthdate, Gender]),
            ("birth", &[Birthplace, Birthcountry]),
            ("identite_pivot", &[GivenName, GivenNameArray, FamilyName, Gender, Birthdate, Birthplace, Birthcountry]),
        ];
        Self { scopes: table.into_iter().map(|(scope, claims)| (scope.into(), claims.iter().copied().collect())).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::samples::angela;
    use serde_json::json;

    fn scopes(text: &str) -> Vec<Scope> {
        text.split(' ').map(Scope::from).collect()
    }

    #[test]
    fn the_file_for_operators_is_the_built_in_table() {
        assert_eq!(ScopeTable::from_toml(include_str!("../../config/scopes.toml")), Ok(ScopeTable::default()));
    }

    #[test]
    fn claims_by_table() {
        let table = ScopeTable::default();
        for (asked, claims) in [
            ("openid", json!({})),
            ("openid unheard_of", json!({})),
            (
                "openid given_name",
                json!({"given_name": "Angela Claire Louise", "given_name_array": ["Angela", "Claire", "Louise"]}),
            ),
            ("openid birth", json!({"birthplace": "75107", "birthcountry": "99100"})),
            ("openid email preferred_username", json!({"email": "angela@example.org"})),
            ("openid gender gender", json!({"gender": "female"})),
            (
                "openid profile",
                json!({"given_name": "Angela Claire Louise", "given_name_array": ["Angela", "Claire", "Louise"],
                       "family_name": "DUBOIS", "birthdate": "1962-08-24", "gender": "female"}),
            ),
        ] {
            assert_eq!(Value::Object(table.claims(&scopes(asked), &angela())), claims, "{asked}");
        }
        assert_eq!(table.claims(&scopes("identite_pivot"), &angela()).len(), 7);
    }

    #[test]
    fn a_claim_without_a_value_is_left_out() {
        let identity = Identity { given_names: Vec::new(), birthplace: None, ..angela() };
        let claims = ScopeTable::default().claims(&scopes("identite_pivot email"), &identity);
        assert!(
            !claims.contains_key("given_name") && !claims.contains_key("given_name_array") && !claims.contains_key("birthplace")
        );
        assert!(claims.values().all(|value| !value.is_null()));
    }

    #[test]
    fn names_are_told_even_without_values() {
        let table = ScopeTable::default();
        assert_eq!(table.claim_names(&scopes("openid preferred_username x")), [Claim::Sub, Claim::PreferredUsername].into());
        assert_eq!(table.all_claim_names().len(), 10);
        assert!(table.known(&"birth".into()) && !table.known(&"address".into()));
        assert_eq!(table.scopes().count(), 12);
    }

    #[test]
    fn a_broken_table_says_how_to_mend_it() {
        for (text, word) in [
            ("scopes = 3", "scopes"),
            ("[scopes]\nopenid = [\"sub\"]\n[extra]", "extra"),
            ("[scopes]\nopenid = [\"sub\"]\nx = [\"shoe_size\"]", "shoe_size"),
            ("[scopes]\nemail = [\"email\"]", "openid"),
            ("[scopes]\nopenid = []", "openid"),
            ("[scopes]\nopenid = [\"sub\"]\n\"a b\" = [\"email\"]", "a b"),
            ("[scopes]\nopenid = [\"sub\"]\nx = [\"sub\"]", "remove"),
        ] {
            let fault = ScopeTable::from_toml(text).unwrap_err().to_string();
            assert!(fault.contains(word), "{fault}");
        }
        let extended = "[scopes]\nopenid = [\"sub\"]\nage = [\"birthdate\"]";
        assert!(ScopeTable::from_toml(extended).unwrap().known(&"age".into()));
    }
}
