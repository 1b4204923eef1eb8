//! The claims that a mapping can build: the specification's, and declared ones.

use serde_json::Value;

use passerelle_federation::identity::declared::{ClaimDeclaration, DeclaredClaims};
use passerelle_federation::identity::mapping::check_value;
use passerelle_federation::identity::{Claim, ClaimName, ClaimType};
use passerelle_settings::FieldDiagnostic;

/// Claims that identify a user and therefore can't be constant.
const NO_CONSTANTS: [Claim; 11] = [
    Claim::GivenName,
    Claim::GivenNameArray,
    Claim::FamilyName,
    Claim::Birthdate,
    Claim::Email,
    Claim::PreferredUsername,
    Claim::Name,
    Claim::Nickname,
    Claim::PhoneNumber,
    Claim::UpdatedAt,
    Claim::Address,
];

/// The claim that a rule builds.
#[derive(Clone, Copy)]
pub(super) enum TargetClaim<'a> {
    Specified(Claim),
    Declared(&'a ClaimDeclaration),
}

impl TargetClaim<'_> {
    /// Returns the JSON type of its values.
    pub(super) const fn value_type(self) -> ClaimType {
        match self {
            Self::Specified(claim) => ClaimType::for_claim(claim),
            Self::Declared(declaration) => declaration.value_type,
        }
    }

    /// Returns true if it can't be the same for all users.
    pub(super) fn identifies_user(self) -> bool {
        match self {
            Self::Specified(claim) => NO_CONSTANTS.contains(&claim),
            Self::Declared(declaration) => declaration.personal,
        }
    }

    /// Returns what would be valid, if the value is not.
    pub(super) fn check_value(self, value: &Value) -> Result<(), String> {
        match self {
            Self::Specified(claim) => check_value(claim, value),
            Self::Declared(declaration) => declaration
                .read_value(value)
                .map(drop)
                .map_err(|error| format!("write a value that its [claims] table allows: {error}")),
        }
    }
}

/// Returns the claim with this name.
///
/// # Errors
/// Returns a diagnostic if it is unknown, or `sub`.
pub(super) fn target_claim<'a>(
    name: &str,
    declared: &'a DeclaredClaims,
) -> Result<TargetClaim<'a>, FieldDiagnostic> {
    let refuse = |message: &str, fix: String| {
        Err(FieldDiagnostic::new(format!("mapping.{name}"), message, fix))
    };
    match (Claim::from_name(name), declared.get(name)) {
        (None, None) => {
            let specified = Claim::all().filter(|claim| *claim != Claim::Sub).map(ClaimName::from);
            let known: Vec<String> =
                specified.chain(declared.names()).map(|claim| claim.to_string()).collect();
            let fix = format!(
                "declare it as [claims.{name}] in passerelle.toml, or write one of: {}",
                known.join(", ")
            );
            refuse("is not a known claim", fix)
        }
        (Some(Claim::Sub), _) => {
            refuse("can't be mapped: every service provider gets its own sub", "remove it".into())
        }
        (Some(claim), _) => Ok(TargetClaim::Specified(claim)),
        (None, Some(declaration)) => Ok(TargetClaim::Declared(declaration)),
    }
}
