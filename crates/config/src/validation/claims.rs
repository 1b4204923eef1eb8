//! Checks the `[claims.NAME]` tables of `passerelle.toml`, claims beyond the specification's, and
//! `[verified_claims]`.

use std::collections::BTreeMap;

use crate::model::Settings;
use passerelle_federation::identity::declared::{
    ClaimDeclaration, MAX_DECLARED_TOTAL_BYTES, RESERVED_NAMES,
};
use passerelle_federation::identity::{Claim, IdentitySource};
use passerelle_federation::localized_text::{self, MAX_NAME_CHARS};
use passerelle_protocol::acr::Platform;
use passerelle_settings::{FileCheck, ValueError};

const MAX_CLAIM_NAME_CHARS: usize = 128;

/// Checks the declared claims.
pub(crate) fn check_claims(check: &mut FileCheck<'_>, claims: &BTreeMap<String, ClaimDeclaration>) {
    let mut total = 0_usize;
    for (name, declaration) in claims {
        let key = format!("claims.{name}");
        check.accept(&key, check_name(name, claims));
        localized_text::check_texts(
            check,
            &format!("{key}.label"),
            &declaration.label,
            MAX_NAME_CHARS,
        );
        let is_within = total <= MAX_DECLARED_TOTAL_BYTES;
        total = total.saturating_add(declaration.max_bytes);
        if is_within && total > MAX_DECLARED_TOTAL_BYTES {
            let message = "lets the claims of a user together be too large";
            let fix = format!(
                "lower max_bytes until the sum of all claims is at most {MAX_DECLARED_TOTAL_BYTES}, or declare fewer claims"
            );
            check.report(&format!("{key}.max_bytes"), message, fix);
        }
    }
}

/// Checks `[verified_claims]`: that it has an effect, and that no name in it is empty.
pub(crate) fn check_verified_claims(check: &mut FileCheck<'_>, settings: &Settings) {
    let Some(rules) = &settings.verified_claims else { return };
    if settings.platform == Platform::High {
        let message = "is for service providers with rules = \"openid\", which the high platform doesn't support";
        check.report("verified_claims", message, "remove it");
    }
    let texts = [
        ("trust_framework", Some(&rules.trust_framework)),
        ("assurance_level", rules.assurance_level.as_ref()),
        ("electronic_record", Some(&rules.electronic_record)),
    ];
    for (key, _) in texts.iter().filter(|(_, text)| text.is_some_and(String::is_empty)) {
        let fix = "write the name that the trust framework has for it, for example eidas, low, population_register";
        check.report(&format!("verified_claims.{key}"), "is empty", fix);
    }
    let has_claims = rules.connectors.values().any(|claims| !claims.is_empty());
    match (settings.identity_source, has_claims) {
        (IdentitySource::Register, true) => {
            let message =
                "has no effect: the register confirms every identity, and verifies its claims";
            check.report("verified_claims.connectors", message, "remove it");
        }
        (IdentitySource::Provider, false) => {
            let message =
                "lists no claim, and no register confirms identities, so no claim is verified";
            let fix = "list the claims that an identity provider has verified: connectors = { ID = [\"family_name\"] }; or remove [verified_claims]";
            check.report("verified_claims.connectors", message, fix);
        }
        _ => {}
    }
}

fn check_name(name: &str, claims: &BTreeMap<String, ClaimDeclaration>) -> Result<(), ValueError> {
    let is_like = |other: &str| other.eq_ignore_ascii_case(name);
    let symbol = |c: u8| c.is_ascii_alphanumeric() || b"_-.:/#".contains(&c);
    if name.is_empty() || name.len() > MAX_CLAIM_NAME_CHARS || !name.bytes().all(symbol) {
        let fix = "use 1 to 128 letters, digits and _ - . : / #, for example siret or https://example.org/claims/siret";
        return Err(ValueError::new("is not a valid claim name", fix));
    }
    if let Some(claim) = Claim::all().map(Claim::as_str).find(|claim| is_like(claim)) {
        let message = format!("is the name of the specification's claim {claim}");
        return Err(ValueError::new(
            message,
            "remove it and use that claim, or choose another name",
        ));
    }
    if let Some(reserved) = RESERVED_NAMES.into_iter().find(|reserved| is_like(reserved)) {
        let message = format!("is reserved for the protocol's claim {reserved}");
        return Err(ValueError::new(message, "choose another name"));
    }
    let Some(other) = claims.keys().find(|other| *other != name && is_like(other)) else {
        return Ok(());
    };
    let message = format!("differs from the claim {other} in upper and lower case only");
    Err(ValueError::new(message, "keep one of the two"))
}

#[cfg(test)]
mod tests;
