//! Verifies presentations of SD-JWT VC (RFC 9901, SD-JWT-based Verifiable Credentials, HAIP 1.0
//! §6.1).
//!
//! Responsible for the issuer's token and its claims. The certificate of `x5c` names the issuer:
//! `iss`, key sets and DIDs are not used.

mod disclosures;
mod key_binding;

use serde_json::{Map, Value};

use super::claims_path::{PathComponent, select_claims};
use super::credential::{
    CredentialValidity, DisclosedClaims, PresentationExpectations, StatusReference,
    VerifiedCredential,
};
use super::presentation_error::PresentationError;
use super::signature::{HolderKey, UnverifiedJws};
use super::trust::{CertificatePurpose, IssuerCertificate};
use passerelle_jose::verify::numeric_date;

/// Maximum number of disclosures of a presentation; a PID has about 40 claims.
const MAX_DISCLOSURES: usize = 200;

/// Claims that must not be selectively disclosed (SD-JWT VC §2.2.2.2): a holder could hide that the
/// credential has expired or is revoked.
const NEVER_DISCLOSED: [&str; 7] = ["iss", "nbf", "exp", "cnf", "vct", "vct#integrity", "status"];

/// An SD-JWT with key binding, in its parts (RFC 9901 §4).
struct SdJwtParts<'a> {
    issuer_jwt: &'a str,
    disclosures: Vec<&'a str>,
    key_binding_jwt: &'a str,
    /// What `sd_hash` covers: all up to the last tilde.
    sd_jwt: &'a str,
}

impl<'a> SdJwtParts<'a> {
    fn parse(presentation: &'a str) -> Result<Self, PresentationError> {
        let (before, key_binding_jwt) =
            presentation.rsplit_once('~').ok_or(PresentationError::Malformed)?;
        let sd_jwt = presentation.get(..=before.len()).ok_or(PresentationError::Malformed)?;
        let mut parts = before.split('~');
        let issuer_jwt = parts.next().ok_or(PresentationError::Malformed)?;
        let disclosures: Vec<_> = parts.take(MAX_DISCLOSURES + 1).collect();
        if disclosures.len() > MAX_DISCLOSURES {
            return Err(PresentationError::TooManyDisclosures);
        }
        if key_binding_jwt.is_empty() {
            return Err(PresentationError::KeyBindingMissing);
        }
        Ok(Self { issuer_jwt, disclosures, key_binding_jwt, sd_jwt })
    }
}

/// Audience and nonce of a key binding JWT, which is not verified.
#[derive(Default)]
pub struct ClaimedBinding {
    pub audience: String,
    pub nonce: String,
}

/// Reads what the holder says that a presentation is for; `None` if it can't be read.
pub fn read_claimed_binding(presentation: &str) -> Option<ClaimedBinding> {
    let (_, compact) = presentation.rsplit_once('~')?;
    let jws = UnverifiedJws::parse(compact)?;
    let text = |name: &str| jws.claims.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(ClaimedBinding { audience: text("aud")?, nonce: text("nonce")? })
}

/// Verifies an SD-JWT VC with its key binding JWT.
///
/// # Errors
/// The first rule that the presentation breaks.
pub fn verify_sd_jwt_presentation(
    presentation: &str,
    expected: &PresentationExpectations<'_>,
) -> Result<VerifiedCredential, PresentationError> {
    let parts = SdJwtParts::parse(presentation)?;
    let (payload, issuer) = verify_issuer_jwt(parts.issuer_jwt, expected)?;
    let disclosed = disclosures::disclose(payload, &parts.disclosures)?;
    let paths = &disclosed.paths;
    let hides_status = |path: &Vec<PathComponent>| matches!(&path[..], [PathComponent::Key(name)] if NEVER_DISCLOSED.contains(&name.as_str()));
    if paths.iter().any(hides_status) {
        return Err(PresentationError::ProtectedClaimDisclosed);
    }
    let claims = disclosed.claims;
    let credential_type = verify_type(&claims, expected)?;
    let validity = verify_validity(&claims, expected)?;
    let holder_key = holder_key(&claims)?;
    key_binding::verify_key_binding(parts.key_binding_jwt, parts.sd_jwt, &holder_key, expected)?;
    let requested = &expected.credential.claims;
    if expected.credential.unrequested_paths(paths).next().is_some() {
        return Err(PresentationError::UnrequestedClaim);
    }
    expected.credential.check_claims(&claims)?;
    Ok(VerifiedCredential {
        credential_type,
        claims: select_claims(&claims, requested),
        issuer,
        validity,
        status: status_reference(&claims)?,
    })
}

/// Reads what a presentation discloses, without verifying it.
///
/// # Errors
/// The rule of the format that it breaks.
pub fn read_disclosed_claims(presentation: &str) -> Result<DisclosedClaims, PresentationError> {
    let parts = SdJwtParts::parse(presentation)?;
    let jws = UnverifiedJws::parse(parts.issuer_jwt).ok_or(PresentationError::Malformed)?;
    disclosures::disclose(jws.claims, &parts.disclosures)
}

/// Verifies the issuer's signature. Returns the payload with its digests.
fn verify_issuer_jwt(
    compact: &str,
    expected: &PresentationExpectations<'_>,
) -> Result<(Map<String, Value>, IssuerCertificate), PresentationError> {
    let jws = UnverifiedJws::parse(compact).ok_or(PresentationError::Malformed)?;
    // RFC 8725 §3.11: no other token of the issuer passes for a credential.
    if jws.header_text("typ") != Some("dc+sd-jwt") {
        return Err(PresentationError::WrongTokenType);
    }
    let alg =
        jws.accepted_alg(&expected.policy.issuer_algs).ok_or(PresentationError::IssuerAlgorithm)?;
    if jws.demands_extension() {
        return Err(PresentationError::IssuerHeader);
    }
    if !jws.header.contains_key("x5c") {
        return Err(PresentationError::CertificateMissing);
    }
    let chain = jws.certificate_chain().ok_or(PresentationError::CertificateMalformed)?;
    let signer =
        expected.anchors.verify_chain(&chain, CertificatePurpose::SdJwtVc, expected.now)?;
    if !alg.verifies(&signer.key, jws.message.as_bytes(), &jws.signature) {
        return Err(PresentationError::IssuerSignature);
    }
    Ok((jws.claims, signer.certificate))
}

fn verify_type(
    claims: &Map<String, Value>,
    expected: &PresentationExpectations<'_>,
) -> Result<String, PresentationError> {
    let vct = claims.get("vct").and_then(Value::as_str);
    let accepted = |vct: &&str| expected.credential.types.iter().any(|accepted| accepted == vct);
    vct.filter(accepted).map(str::to_owned).ok_or(PresentationError::WrongType)
}

fn verify_validity(
    claims: &Map<String, Value>,
    expected: &PresentationExpectations<'_>,
) -> Result<CredentialValidity, PresentationError> {
    let time = |name| numeric_date(claims, name).map_err(|_| PresentationError::InvalidTimes);
    let validity = CredentialValidity {
        issued_at: time("iat")?,
        not_before: time("nbf")?,
        expires_at: time("exp")?,
    };
    validity.check(expected.now, expected.policy.clock_skew)?;
    Ok(validity)
}

/// HAIP 1.0 §6.1: `cnf` has the key itself.
fn holder_key(claims: &Map<String, Value>) -> Result<HolderKey, PresentationError> {
    let jwk = claims.get("cnf").and_then(|cnf| cnf.get("jwk"));
    let jwk = jwk.ok_or(PresentationError::HolderKeyMissing)?;
    jwk.as_object().and_then(HolderKey::from_jwk).ok_or(PresentationError::HolderKeyInvalid)
}

/// HAIP 1.0 §6.1: a `status` has a `status_list` (Token Status List §6.2).
fn status_reference(
    claims: &Map<String, Value>,
) -> Result<Option<StatusReference>, PresentationError> {
    let Some(status) = claims.get("status") else { return Ok(None) };
    let list = status.get("status_list").and_then(Value::as_object);
    let reference = list.and_then(|list| {
        let uri = list.get("uri")?.as_str()?.to_owned();
        Some(StatusReference { uri, index: list.get("idx")?.as_u64()? })
    });
    reference.map(Some).ok_or(PresentationError::InvalidStatusReference)
}

#[cfg(test)]
mod tests;
