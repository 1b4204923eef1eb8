//! Verifies a presentation of either format.

use super::credential::{
    CredentialFormat, DisclosedClaims, PresentationExpectations, VerifiedCredential,
};
use super::presentation_error::PresentationError;
use super::{mdoc, sd_jwt};

/// Size limit of one presentation, in bytes: the same as that of the request that contains it. A
/// PID is several times smaller; a portrait often exceeds it.
pub const MAX_PRESENTATION_BYTES: usize = 64 * 1024;

/// Verifies the presentation of an mdoc, but not that its device made it for a request: for a
/// sample whose request is not known.
///
/// # Errors
/// The first rule that the presentation breaks.
pub fn verify_issued_mdoc(
    presentation: &str,
    expected: &PresentationExpectations<'_>,
) -> Result<VerifiedCredential, PresentationError> {
    if presentation.len() > MAX_PRESENTATION_BYTES {
        return Err(PresentationError::TooLarge);
    }
    mdoc::verify_issuer_signed(presentation, expected)
}

/// Reads what a presentation discloses, without verifying it: for the message about one that
/// discloses too much or too little.
pub fn read_disclosed_claims(presentation: &str, format: CredentialFormat) -> DisclosedClaims {
    let disclosed = match format {
        CredentialFormat::DcSdJwt => sd_jwt::read_disclosed_claims(presentation),
        CredentialFormat::MsoMdoc => mdoc::read_disclosed_claims(presentation),
    };
    disclosed.unwrap_or_default()
}

/// Verifies one presentation: of `dc+sd-jwt` the SD-JWT with its key binding, of `mso_mdoc` the
/// `DeviceResponse` as base64url.
///
/// # Errors
/// The first rule that the presentation breaks.
pub fn verify_presentation(
    presentation: &str,
    expected: &PresentationExpectations<'_>,
) -> Result<VerifiedCredential, PresentationError> {
    if presentation.len() > MAX_PRESENTATION_BYTES {
        return Err(PresentationError::TooLarge);
    }
    match expected.credential.format {
        CredentialFormat::DcSdJwt => sd_jwt::verify_sd_jwt_presentation(presentation, expected),
        CredentialFormat::MsoMdoc => mdoc::verify_device_response(presentation, expected),
    }
}
