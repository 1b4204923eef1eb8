//! The claims that a scope releases: `config/scopes.toml`, which operators may extend. There are
//! two tables: the specification's, and that of OpenID Connect Core 1.0 §5.4 for service providers
//! under `rules = "openid"`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::declared::DeclaredClaims;
use super::standard::full_name;
use super::{Claim, ClaimName, Identity};
use passerelle_protocol::ids::Scope;

/// Claims that each scope releases. `ScopeTable::default()` is the specification's table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScopeTable {
    scopes: BTreeMap<Scope, BTreeSet<ClaimName>>,
}

/// Why a scope table is invalid, and how to fix it.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum ScopeTableError {
    #[error("there is no claim `{0}`: declare it as [claims.{0}] in passerelle.toml")]
    NoSuchClaim(String),
    #[error("`openid` must release `sub`: write `openid = [\"sub\"]`")]
    OpenidWithoutSub,
    #[error(
        "`{0}` is not a scope value: use printable ASCII without space, quotation mark and backslash"
    )]
    Value(Scope),
    #[error("`{0}` releases `sub`, which only `openid` may release: remove it there")]
    StraySub(Scope),
}

/// How a birthdate without a known day, or without day and month, is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartialDateFormat {
    /// `YYYY-MM-00`, `YYYY-00-00`: the federation's specification.
    ZeroPadded,
    /// `YYYY`: OpenID Connect Core 1.0 §5.1.
    YearOnly,
}

impl ScopeTable {
    /// Creates a table from names, as in the configuration.
    ///
    /// # Errors
    /// An unknown claim, or a table that breaks OpenID Connect.
    pub fn from_names(
        names: &BTreeMap<Scope, Vec<String>>,
        declared: &DeclaredClaims,
    ) -> Result<Self, ScopeTableError> {
        let claim = |name: &String| {
            declared.find(name).ok_or_else(|| ScopeTableError::NoSuchClaim(name.clone()))
        };
        let row = |(scope, names): (&Scope, &Vec<String>)| {
            Ok((scope.clone(), names.iter().map(claim).collect::<Result<_, _>>()?))
        };
        Self { scopes: names.iter().map(row).collect::<Result<_, _>>()? }.validated()
    }

    /// Returns the table as names, as in the configuration.
    pub fn names(&self) -> BTreeMap<Scope, Vec<String>> {
        let names = |claims: &BTreeSet<ClaimName>| claims.iter().map(ToString::to_string).collect();
        self.scopes.iter().map(|(scope, claims)| (scope.clone(), names(claims))).collect()
    }

    /// Returns the table of OpenID Connect Core 1.0 §5.4.
    pub fn openid() -> Self {
        use Claim::{
            Address, Birthdate, Email, EmailVerified, FamilyName, Gender, GivenName, Locale,
            MiddleName, Name, Nickname, PhoneNumber, PhoneNumberVerified, Picture,
            PreferredUsername, Profile, Sub, UpdatedAt, Website, Zoneinfo,
        };
        Self::from_rows(&[
            (OPENID, &[Sub]),
            (
                "profile",
                &[
                    Name,
                    FamilyName,
                    GivenName,
                    MiddleName,
                    Nickname,
                    PreferredUsername,
                    Profile,
                    Picture,
                    Website,
                    Gender,
                    Birthdate,
                    Zoneinfo,
                    Locale,
                    UpdatedAt,
                ],
            ),
            ("email", &[Email, EmailVerified]),
            ("address", &[Address]),
            ("phone", &[PhoneNumber, PhoneNumberVerified]),
        ])
    }

    fn from_rows(rows: &[(&str, &[Claim])]) -> Self {
        Self {
            scopes: rows
                .iter()
                .map(|(scope, claims)| {
                    ((*scope).into(), claims.iter().copied().map(ClaimName::from).collect())
                })
                .collect(),
        }
    }

    fn validated(self) -> Result<Self, ScopeTableError> {
        let table = self;
        for (scope, claims) in &table.scopes {
            // RFC 6749 §3.3
            if scope.as_str().is_empty()
                || !scope.as_str().bytes().all(|c| matches!(c, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
            {
                return Err(ScopeTableError::Value(scope.clone()));
            }
            if scope.as_str() != OPENID && claims.contains(&Claim::Sub.into()) {
                return Err(ScopeTableError::StraySub(scope.clone()));
            }
        }
        let openid_is_sound =
            table.scopes.get(OPENID).is_some_and(|claims| claims.contains(&Claim::Sub.into()));
        if openid_is_sound { Ok(table) } else { Err(ScopeTableError::OpenidWithoutSub) }
    }

    /// Returns true if the scope is in the table. Other scopes are ignored at authorize.
    pub fn contains(&self, scope: &Scope) -> bool {
        self.scopes.contains_key(scope)
    }

    /// Returns every scope, for discovery.
    pub fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.scopes.keys()
    }

    /// Returns the claims that these scopes release, `sub` included, with or without a value.
    pub fn claim_names<'a>(
        &self,
        scopes: impl IntoIterator<Item = &'a Scope>,
    ) -> BTreeSet<ClaimName> {
        scopes.into_iter().filter_map(|scope| self.scopes.get(scope)).flatten().cloned().collect()
    }

    /// Returns every claim that a scope releases, for discovery.
    pub fn all_claim_names(&self) -> BTreeSet<ClaimName> {
        self.scopes.values().flatten().cloned().collect()
    }
}

/// Returns the values of these claims, except `sub`, which is derived per service provider. Claims
/// without a value are omitted, never null.
pub fn claim_values(
    names: &BTreeSet<ClaimName>,
    identity: &Identity,
    format: PartialDateFormat,
) -> Map<String, Value> {
    let value = |name: &ClaimName| match name {
        ClaimName::Specified(claim) => claim_value(*claim, identity, format),
        ClaimName::Declared(name) => identity.declared.get(name).cloned(),
    };
    names.iter().filter_map(|name| Some((name.as_str().to_owned(), value(name)?))).collect()
}

const OPENID: &str = "openid";

fn claim_value(claim: Claim, identity: &Identity, format: PartialDateFormat) -> Option<Value> {
    let text = |value: &Option<String>| value.clone().map(Value::String);
    match claim {
        Claim::Sub => None,
        Claim::GivenName => identity.given_name().map(Value::String),
        Claim::GivenNameArray => {
            (!identity.given_names.is_empty()).then(|| identity.given_names.clone().into())
        }
        Claim::FamilyName => text(&identity.family_name),
        Claim::Birthdate => {
            identity.birthdate.as_deref().map(|date| format_birthdate(date, format).into())
        }
        Claim::Gender => text(&identity.gender),
        Claim::Birthplace => text(&identity.birthplace),
        Claim::Birthcountry => text(&identity.birthcountry),
        Claim::Email => text(&identity.email),
        Claim::PreferredUsername => text(&identity.preferred_username),
        Claim::Name => full_name(identity),
        Claim::MiddleName
        | Claim::Nickname
        | Claim::Profile
        | Claim::Picture
        | Claim::Website
        | Claim::Zoneinfo
        | Claim::Locale
        | Claim::UpdatedAt
        | Claim::EmailVerified
        | Claim::PhoneNumber
        | Claim::PhoneNumberVerified
        | Claim::Address => identity.standard.get(&claim).cloned(),
    }
}

fn format_birthdate(date: &str, format: PartialDateFormat) -> &str {
    match (format, date.split_once('-')) {
        (PartialDateFormat::YearOnly, Some((year, _))) if date.ends_with("-00") => year,
        _ => date,
    }
}

impl Default for ScopeTable {
    /// Returns the specification's table, which equals `[scopes]` of `config/scopes.toml`.
    fn default() -> Self {
        use Claim::{
            Birthcountry, Birthdate, Birthplace, Email, FamilyName, Gender, GivenName,
            GivenNameArray, PreferredUsername, Sub,
        };
        Self::from_rows(&[
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
            (
                "identite_pivot",
                &[
                    GivenName,
                    GivenNameArray,
                    FamilyName,
                    Gender,
                    Birthdate,
                    Birthplace,
                    Birthcountry,
                ],
            ),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples::angela;
    use serde_json::json;

    fn scopes(text: &str) -> Vec<Scope> {
        text.split(' ').map(Scope::from).collect()
    }

    fn claims(table: &ScopeTable, asked: &str, identity: &Identity) -> Map<String, Value> {
        claim_values(&table.claim_names(&scopes(asked)), identity, PartialDateFormat::ZeroPadded)
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
            assert_eq!(
                Value::Object(super::tests::claims(&table, asked, &angela())),
                claims,
                "{asked}"
            );
        }
        assert_eq!(claims(&table, "identite_pivot", &angela()).len(), 7);
    }

    #[test]
    fn a_claim_without_a_value_is_left_out() {
        let identity = Identity { given_names: Vec::new(), birthplace: None, ..angela() };
        let claims = claims(&ScopeTable::default(), "identite_pivot email", &identity);
        assert!(
            !claims.contains_key("given_name")
                && !claims.contains_key("given_name_array")
                && !claims.contains_key("birthplace")
        );
        assert!(claims.values().all(|value| !value.is_null()));
    }

    #[test]
    fn names_are_listed_even_without_values() {
        let table = ScopeTable::default();
        assert_eq!(
            table.claim_names(&scopes("openid preferred_username x")),
            [Claim::Sub, Claim::PreferredUsername].map(ClaimName::from).into()
        );
        assert_eq!(table.all_claim_names().len(), 10);
        assert!(table.contains(&"birth".into()) && !table.contains(&"address".into()));
        assert_eq!(table.scopes().count(), 12);
    }

    #[test]
    fn the_table_of_openid_connect_by_scope() {
        let mut identity = angela();
        identity.birthdate = Some("1962-08-00".into());
        identity.standard =
            [(Claim::EmailVerified, true.into()), (Claim::Nickname, "Angie".into())].into();
        let table = ScopeTable::openid();
        for (asked, expected) in [
            ("openid", json!({})),
            ("openid email", json!({"email": "angela@example.org", "email_verified": true})),
            ("openid address phone", json!({})),
            ("openid birth identite_pivot", json!({})),
            (
                "openid profile",
                json!({"name": "Angela Claire Louise DUBOIS", "given_name": "Angela Claire Louise", "family_name": "DUBOIS",
                       "gender": "female", "birthdate": "1962", "nickname": "Angie"}),
            ),
        ] {
            let released = claim_values(
                &table.claim_names(&scopes(asked)),
                &identity,
                PartialDateFormat::YearOnly,
            );
            assert_eq!(Value::Object(released), expected, "{asked}");
        }
        assert_eq!(ScopeTable::from_names(&table.names(), &DeclaredClaims::default()), Ok(table));
    }

    #[test]
    fn a_presumed_birthdate_is_written_as_the_rules_have_it() {
        for (date, plain) in
            [("1962-08-24", "1962-08-24"), ("1962-08-00", "1962"), ("1962-00-00", "1962")]
        {
            assert_eq!(
                (
                    format_birthdate(date, PartialDateFormat::ZeroPadded),
                    format_birthdate(date, PartialDateFormat::YearOnly)
                ),
                (date, plain)
            );
        }
    }

    #[test]
    fn an_invalid_table_is_reported_with_its_fix() {
        for (rows, word) in [
            (&[("openid", "sub"), ("x", "shoe_size")][..], "shoe_size"),
            (&[("email", "email")], "openid"),
            (&[("openid", "email")], "openid"),
            (&[("openid", "sub"), ("a b", "email")], "a b"),
            (&[("openid", "sub"), ("x", "sub")], "remove"),
        ] {
            let names = rows
                .iter()
                .map(|(scope, claim)| (Scope::from(*scope), vec![(*claim).to_owned()]))
                .collect();
            let error =
                ScopeTable::from_names(&names, &DeclaredClaims::default()).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let extended = [("openid", "sub"), ("age", "birthdate")]
            .map(|(scope, claim)| (scope.into(), vec![claim.to_owned()]));
        assert!(
            ScopeTable::from_names(&extended.into(), &DeclaredClaims::default())
                .unwrap()
                .contains(&"age".into())
        );
    }
}
