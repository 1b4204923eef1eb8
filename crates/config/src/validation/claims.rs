//! Checks the `[claims.NAME]` tables of `passerelle.toml`: claims beyond the specification's.

use std::collections::BTreeMap;

use passerelle_federation::identity::Claim;
use passerelle_federation::identity::declared::{
    ClaimDeclaration, MAX_DECLARED_TOTAL_BYTES, RESERVED_NAMES,
};
use passerelle_federation::localized_text::{self, MAX_NAME_CHARS};
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
