//! Merges the claims of an ID token and of userinfo.
//!
//! Claims that belong together come from one source. Otherwise the `email_verified` of an ID token
//! would vouch for the `email` of userinfo, which users of some identity providers can change
//! (CVE-2026-14781), and a name would be made of two names.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::settings_checks::PROTOCOL_CLAIMS;
use passerelle_federation::identity::mapping::{ClaimPath, Mapping, MappingSource};
use passerelle_federation::identity::{Claim, ClaimName};

/// Suffix of a claim that says something about the claim without it.
const VERIFIED: &str = "_verified";

/// Groups of claims, by the names that the identity provider gives them.
#[derive(Clone, Debug)]
pub(super) struct ClaimGroups(Vec<ClaimGroup>);

/// Claims that belong together.
#[derive(Clone, Debug, Default)]
struct ClaimGroup {
    /// The values of the group, each by the names that can hold it.
    keys: Vec<BTreeSet<String>>,
    /// Claims that say something about the values, or are made of them.
    dependents: BTreeSet<String>,
}

impl ClaimGroups {
    /// Returns the groups of a connector whose claims are mapped in this way.
    pub(super) fn new(mapping: &Mapping) -> Self {
        use Claim::{
            Birthcountry, Birthplace, Email, EmailVerified, FamilyName, GivenName, GivenNameArray,
            MiddleName, Name, PhoneNumber, PhoneNumberVerified,
        };
        let table: [(&[&[Claim]], &[Claim]); 4] = [
            (&[&[Email]], &[EmailVerified]),
            (&[&[PhoneNumber]], &[PhoneNumberVerified]),
            (&[&[GivenName, GivenNameArray], &[FamilyName]], &[Name, MiddleName]),
            (&[&[Birthplace], &[Birthcountry]], &[]),
        ];
        let names = |claims: &[Claim]| -> BTreeSet<String> {
            claims.iter().flat_map(|claim| source_names(mapping, *claim)).collect()
        };
        let mut groups = Self(Vec::new());
        for (keys, dependents) in table {
            groups.add(ClaimGroup {
                keys: keys.iter().map(|claims| names(claims)).collect(),
                dependents: names(dependents),
            });
        }
        groups
    }

    /// Adds a group, united with those that share a claim with it.
    fn add(&mut self, mut group: ClaimGroup) {
        let (sharing, separate): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.0).into_iter().partition(|other| other.shares_a_claim(&group));
        self.0 = separate;
        for other in sharing {
            group.keys.extend(other.keys);
            group.dependents.extend(other.dependents);
        }
        self.0.push(group);
    }

    /// Returns the identity claims of both sources, without protocol claims. Userinfo takes
    /// precedence.
    pub(super) fn merge(
        &self,
        mut id_token: Map<String, Value>,
        mut userinfo: Map<String, Value>,
    ) -> Map<String, Value> {
        for claims in [&mut id_token, &mut userinfo] {
            claims.retain(|name, value| {
                !PROTOCOL_CLAIMS.contains(&name.as_str()) && is_present(value)
            });
        }
        // As with most identity providers that have a userinfo endpoint.
        if id_token.is_empty() {
            return userinfo;
        }
        let mut merged = Map::new();
        for group in &self.with_verified_claims(&[&id_token, &userinfo]).0 {
            let from_userinfo = group.take_from(&mut userinfo);
            let from_id_token = group.take_from(&mut id_token);
            merged.extend(group.merge(from_userinfo, from_id_token));
        }
        merged.extend(id_token);
        merged.extend(userinfo);
        merged
    }

    /// Returns the groups with each `…_verified` claim in that of the claim it is about.
    fn with_verified_claims(&self, sources: &[&Map<String, Value>]) -> Self {
        let mut groups = self.clone();
        for name in sources.iter().flat_map(|claims| claims.keys()) {
            let flag = base_name(name);
            let Some(value) = flag.strip_suffix(VERIFIED) else { continue };
            if groups.0.iter().any(|group| group.has_claim(flag)) {
                continue;
            }
            match groups.0.iter_mut().find(|group| group.has_claim(value)) {
                Some(group) => {
                    group.dependents.insert(flag.to_owned());
                }
                None => groups.0.push(ClaimGroup {
                    keys: vec![[value.to_owned()].into()],
                    dependents: [flag.to_owned()].into(),
                }),
            }
        }
        groups
    }
}

impl ClaimGroup {
    fn has_claim(&self, name: &str) -> bool {
        let name = base_name(name);
        self.dependents.contains(name) || self.keys.iter().any(|names| names.contains(name))
    }

    fn shares_a_claim(&self, other: &Self) -> bool {
        other.keys.iter().flatten().chain(&other.dependents).any(|name| self.has_claim(name))
    }

    /// Takes the claims of the group out of a source.
    fn take_from(&self, source: &mut Map<String, Value>) -> Map<String, Value> {
        let (taken, rest) =
            std::mem::take(source).into_iter().partition(|(name, _)| self.has_claim(name));
        *source = rest;
        taken
    }

    /// Returns the claims of the source with the most values of the group, userinfo at a tie.
    fn merge(
        &self,
        userinfo: Map<String, Value>,
        id_token: Map<String, Value>,
    ) -> Map<String, Value> {
        let (mut chosen, other) = if self.completeness(&userinfo) >= self.completeness(&id_token) {
            (userinfo, id_token)
        } else {
            (id_token, userinfo)
        };
        let contradicts =
            |(name, value): (&String, &Value)| other.get(name).is_some_and(|other| other != value);
        if chosen.iter().any(contradicts) {
            return chosen;
        }
        // Equal values are one value, whatever source states it, so that the other source's claims
        // are about it too.
        let agrees = chosen.keys().any(|name| self.is_key(name) && other.contains_key(name));
        let missing: Vec<_> = other
            .into_iter()
            .filter(|(name, _)| !chosen.contains_key(name) && (agrees || self.is_key(name)))
            .collect();
        chosen.extend(missing);
        chosen
    }

    fn is_key(&self, name: &str) -> bool {
        self.keys.iter().any(|names| names.contains(base_name(name)))
    }

    /// Returns how much of the group these claims have: claims about values count only without any.
    fn completeness(&self, claims: &Map<String, Value>) -> usize {
        let is_held =
            |names: &&BTreeSet<String>| claims.keys().any(|claim| names.contains(base_name(claim)));
        match self.keys.iter().filter(is_held).count() {
            0 => usize::from(!claims.is_empty()),
            held => held + 1,
        }
    }
}

/// `null` and the empty text count as absent, as in the identity rules.
fn is_present(value: &Value) -> bool {
    !value.is_null() && value.as_str() != Some("")
}

/// Returns the name of a claim without its language (Core §5.2).
fn base_name(name: &str) -> &str {
    name.split_once('#').map_or(name, |(base, _)| base)
}

/// Returns the identity provider's claims that a claim is made of.
fn source_names(mapping: &Mapping, claim: Claim) -> Vec<String> {
    match mapping.rules.get(&ClaimName::from(claim)).map(|rule| &rule.source) {
        None => vec![claim.to_string()],
        Some(MappingSource::Constant(_)) => Vec::new(),
        Some(MappingSource::From(path)) => vec![base_name(path.claim()).to_owned()],
        Some(MappingSource::Join { parts, .. }) => {
            parts.iter().map(ClaimPath::claim).map(|name| base_name(name).to_owned()).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use passerelle_federation::identity::mapping::{MappingRule, Transform};

    fn merge_mapped(mapping: &Mapping, id_token: &Value, userinfo: &Value) -> Value {
        let claims = |claims: &Value| claims.as_object().unwrap().clone();
        let groups = ClaimGroups::new(mapping);
        Value::Object(groups.merge(claims(id_token), claims(userinfo)))
    }

    fn merge(id_token: &Value, userinfo: &Value) -> Value {
        merge_mapped(&Mapping::default(), id_token, userinfo)
    }

    #[test]
    fn a_flag_of_one_source_vouches_for_no_value_of_the_other() {
        for (id_token, userinfo, merged) in [
            (
                json!({ "email": "boss@example.org", "email_verified": true }),
                json!({ "email": "attacker@example.org" }),
                json!({ "email": "attacker@example.org" }),
            ),
            (
                json!({ "email": "attacker@example.org" }),
                json!({ "email_verified": true }),
                json!({ "email": "attacker@example.org" }),
            ),
            (
                json!({ "email": "a@example.org", "email_verified": true }),
                json!({ "email": "a@example.org" }),
                json!({ "email": "a@example.org", "email_verified": true }),
            ),
            (
                json!({ "email": "a@example.org", "email_verified": true }),
                json!({ "email": "a@example.org", "email_verified": false }),
                json!({ "email": "a@example.org", "email_verified": false }),
            ),
            (
                json!({ "email": "a@example.org", "email_verified": true }),
                json!({ "email": "", "email_verified": null }),
                json!({ "email": "a@example.org", "email_verified": true }),
            ),
            (
                json!({ "phone_number": "+331", "phone_number_verified": true }),
                json!({ "phone_number": "+332" }),
                json!({ "phone_number": "+332" }),
            ),
            (
                json!({ "badge": "1", "badge_verified": true }),
                json!({ "badge": "2" }),
                json!({ "badge": "2" }),
            ),
            (
                json!({ "address": { "country": "FR", "locality": "Paris" } }),
                json!({ "address": { "country": "BE" } }),
                json!({ "address": { "country": "BE" } }),
            ),
        ] {
            assert_eq!(merge(&id_token, &userinfo), merged, "{id_token} {userinfo}");
        }
    }

    #[test]
    fn the_parts_of_a_name_come_from_one_source() {
        for (id_token, userinfo, merged) in [
            (
                json!({ "given_name": "Ada", "family_name": "Lovelace", "middle_name": "A." }),
                json!({ "family_name": "King" }),
                json!({ "given_name": "Ada", "family_name": "Lovelace", "middle_name": "A." }),
            ),
            (
                json!({ "name": "The Boss", "given_name": "The" }),
                json!({ "given_name": "Eve", "family_name": "X" }),
                json!({ "given_name": "Eve", "family_name": "X" }),
            ),
            (
                json!({ "name": "The Boss" }),
                json!({ "given_name": "Eve", "family_name": "X" }),
                json!({ "given_name": "Eve", "family_name": "X" }),
            ),
            (
                json!({ "given_name": "Ada", "family_name": "Lovelace", "name": "Ada Lovelace" }),
                json!({ "given_name": "Ada", "middle_name": "A." }),
                json!({
                    "given_name": "Ada", "family_name": "Lovelace", "name": "Ada Lovelace",
                    "middle_name": "A.",
                }),
            ),
            // Each source has a part that the other lacks, and none contradicts it.
            (
                json!({ "given_name": "Ada" }),
                json!({ "family_name": "Lovelace" }),
                json!({ "given_name": "Ada", "family_name": "Lovelace" }),
            ),
            (
                json!({ "name": "Ada" }),
                json!({ "locale": "en" }),
                json!({ "name": "Ada", "locale": "en" }),
            ),
            (
                json!({ "birthplace": "75107", "birthcountry": "99100" }),
                json!({ "birthcountry": "99131" }),
                json!({ "birthplace": "75107", "birthcountry": "99100" }),
            ),
        ] {
            assert_eq!(merge(&id_token, &userinfo), merged, "{id_token} {userinfo}");
        }
    }

    #[test]
    fn a_flag_vouches_for_no_value_of_the_other_source_under_the_names_of_the_mapping() {
        let rule = |path| MappingRule {
            source: MappingSource::From(ClaimPath::parse(path).unwrap()),
            transform: Transform::Unchanged,
        };
        let mapping = Mapping {
            rules: [
                (Claim::Email.into(), rule("mail")),
                (Claim::EmailVerified.into(), rule("/checks/mail")),
            ]
            .into(),
            ..Mapping::default()
        };
        let id_token = json!({ "mail": "boss@example.org", "checks": { "mail": true } });
        let merged = merge_mapped(&mapping, &id_token, &json!({ "mail": "attacker@example.org" }));
        assert_eq!(merged, json!({ "mail": "attacker@example.org" }));
    }

    #[test]
    fn other_claims_are_united_and_protocol_claims_removed() {
        let merged = merge(
            &json!({ "iss": "x", "sub": "s", "locale": "fr", "zoneinfo": "Europe/Paris", "nonce": "n" }),
            &json!({ "sub": "s", "locale": "en", "zoneinfo": null }),
        );
        assert_eq!(merged, json!({ "locale": "en", "zoneinfo": "Europe/Paris" }));
    }
}
