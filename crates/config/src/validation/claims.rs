//! Checks the `[claims.NAME]` tables of `passerelle.toml`: claims beyond the specification's.

use std::collections::BTreeMap;

use passerelle_federation::identity::Claim;
use passerelle_federation::identity::declared::{
    ClaimDeclaration, MAX_DECLARED_BYTES, MAX_DECLARED_TOTAL_BYTES, RESERVED_NAMES,
};
use passerelle_federation::localized_text;
use passerelle_settings::value_checks::check_range;
use passerelle_settings::{Diagnostic, SourceFile};

const MAX_NAME_CHARS: usize = 128;

/// Checks the declared claims.
pub fn check_claims(
    source: &SourceFile,
    claims: &BTreeMap<String, ClaimDeclaration>,
    problems: &mut Vec<Diagnostic>,
) {
    let mut total = 0_usize;
    for (name, declaration) in claims {
        let key = format!("claims.{name}");
        if let Some((message, fix)) = name_problem(name, claims) {
            problems.push(source.diagnostic(&key, message, fix));
        }
        localized_text::check_texts(source, &format!("{key}.label"), &declaration.label, problems);
        let most = u64::try_from(MAX_DECLARED_BYTES).unwrap_or(u64::MAX);
        let bytes = u64::try_from(declaration.max_bytes).unwrap_or(u64::MAX);
        check_range(source, &format!("{key}.max_bytes"), bytes, (1, most), problems);
        let is_within = total <= MAX_DECLARED_TOTAL_BYTES;
        total = total.saturating_add(declaration.max_bytes);
        if is_within && total > MAX_DECLARED_TOTAL_BYTES {
            let message = "lets the claims of a user together be too large";
            let fix = format!(
                "lower max_bytes until the sum of all claims is at most {MAX_DECLARED_TOTAL_BYTES}, or declare fewer claims"
            );
            problems.push(source.diagnostic(&format!("{key}.max_bytes"), message, fix));
        }
    }
}

fn name_problem(
    name: &str,
    claims: &BTreeMap<String, ClaimDeclaration>,
) -> Option<(String, &'static str)> {
    let is_like = |other: &str| other.eq_ignore_ascii_case(name);
    let symbol = |c: u8| c.is_ascii_alphanumeric() || b"_-.:/#".contains(&c);
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.bytes().all(symbol) {
        let fix = "use 1 to 128 letters, digits and _ - . : / #, for example siret or https://example.org/claims/siret";
        return Some(("is not a valid claim name".to_owned(), fix));
    }
    if let Some(claim) = Claim::all().map(Claim::as_str).find(|claim| is_like(claim)) {
        let message = format!("is the name of the specification's claim {claim}");
        return Some((message, "remove it and use that claim, or choose another name"));
    }
    if let Some(reserved) = RESERVED_NAMES.into_iter().find(|reserved| is_like(reserved)) {
        let message = format!("is reserved for the protocol's claim {reserved}");
        return Some((message, "choose another name"));
    }
    let other = claims.keys().find(|other| *other != name && is_like(other))?;
    let message = format!("differs from the claim {other} in upper and lower case only");
    Some((message, "keep one of the two"))
}

#[cfg(test)]
mod tests;
