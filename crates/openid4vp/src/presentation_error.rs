//! Why a presentation is rejected: one variant for each rule, with a metric label and a text.

/// Defines the enum with its texts, and its labels as one table.
macro_rules! presentation_errors {
    ($($variant:ident $label:literal $text:literal,)*) => {
        /// Why a presentation is rejected. Contains nothing of the presentation.
        #[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum PresentationError {
            $(#[error($text)] $variant,)*
        }

        impl PresentationError {
            /// All reasons.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the label value for metrics.
            pub const fn label(self) -> &'static str {
                match self {
                    $(Self::$variant => $label,)*
                }
            }
        }
    };
}

presentation_errors! {
    TooLarge "too_large" "the presentation is longer than 64 KiB",
    Malformed "malformed" "the presentation is not of the requested format",
    // Signatures and certificates, of both formats.
    IssuerAlgorithm "issuer_algorithm" "the issuer signed with an algorithm that is not accepted",
    IssuerHeader "issuer_header" "the header of the issuer's signature demands an extension (crit, b64)",
    IssuerSignature "issuer_signature" "the issuer's signature is wrong",
    CertificateMissing "certificate_missing" "the credential has no certificate chain (x5c, x5chain)",
    CertificateMalformed "certificate_malformed" "the certificate chain of the issuer can't be parsed",
    CertificateKey "certificate_key" "a certificate of the issuer's chain has a key of a type, curve or size that is not accepted: use P-256, P-384, P-521, a named brainpool curve, Ed25519, or RSA of 2048 to 4096 bits with an exponent of at most 65537",
    CertificateChainTooLong "certificate_chain_too_long" "the certificate chain of the issuer is too long",
    CertificateSelfSigned "certificate_self_signed" "the certificate chain of the issuer has a self-signed certificate: the issuer must leave the trust anchor out",
    IssuerUntrusted "issuer_untrusted" "no trust anchor issued the issuer's certificate",
    CertificateExpired "certificate_expired" "a certificate of the issuer's chain has expired",
    CertificateNotYetValid "certificate_not_yet_valid" "a certificate of the issuer's chain is not valid yet",
    CertificateUsage "certificate_usage" "the issuer's certificate may not be used to sign credentials",
    CertificateInvalid "certificate_invalid" "the certificate chain of the issuer is invalid",
    // Type and time, of both formats.
    WrongType "wrong_type" "the credential is not of a requested type (vct, docType)",
    CredentialExpired "credential_expired" "the credential has expired",
    CredentialNotYetValid "credential_not_yet_valid" "the credential is not valid yet",
    InvalidTimes "invalid_times" "the times of the credential are missing, malformed or contradictory",
    InvalidStatusReference "invalid_status_reference" "the status of the credential names no status list",
    UnrequestedClaim "unrequested_claim" "the wallet disclosed a claim that was not requested",
    MissingClaim "missing_claim" "a requested claim is missing",
    HolderKeyMissing "holder_key_missing" "the credential is bound to no key of the holder",
    HolderKeyInvalid "holder_key_invalid" "the key of the holder is malformed or of a type that is not accepted",
    HolderAlgorithm "holder_algorithm" "the holder signed with an algorithm that is not accepted",
    HolderSignature "holder_signature" "the holder's signature is wrong, or belongs to another request",
    // SD-JWT VC.
    WrongTokenType "wrong_token_type" "the typ of the credential is not dc+sd-jwt",
    DigestAlgorithm "digest_algorithm" "the _sd_alg of the credential is not sha-256",
    TooManyDisclosures "too_many_disclosures" "the presentation has too many disclosures",
    MalformedDisclosure "malformed_disclosure" "a disclosure is not a base64url array of salt, name and value",
    ReservedClaimName "reserved_claim_name" "a disclosure has a reserved claim name (_sd, ...)",
    RepeatedDisclosure "repeated_disclosure" "a disclosure is presented twice",
    RepeatedDigest "repeated_digest" "a digest occurs twice in the credential",
    MalformedDigest "malformed_digest" "a digest of the credential is malformed or misplaced",
    UnreferencedDisclosure "unreferenced_disclosure" "a disclosure has no digest in the credential",
    RepeatedClaim "repeated_claim" "a disclosure overwrites a claim of the credential",
    ProtectedClaimDisclosed "protected_claim_disclosed" "a claim that must not be selectively disclosed is disclosed (iss, nbf, exp, cnf, vct, status)",
    NestedTooDeep "nested_too_deep" "the credential is nested too deeply",
    KeyBindingMissing "key_binding_missing" "the presentation has no key binding JWT",
    KeyBindingMalformed "key_binding_malformed" "the key binding JWT is malformed",
    KeyBindingType "key_binding_type" "the typ of the key binding JWT is not kb+jwt",
    KeyBindingAudience "key_binding_audience" "the key binding JWT is for another audience",
    KeyBindingNonce "key_binding_nonce" "the nonce of the key binding JWT is not that of the request",
    KeyBindingDigest "key_binding_digest" "the sd_hash of the key binding JWT is not that of the presentation",
    KeyBindingTooOld "key_binding_too_old" "the key binding JWT is too old",
    KeyBindingInFuture "key_binding_in_future" "the key binding JWT is from the future",
    // ISO/IEC 18013-5 mdoc.
    InvalidCbor "invalid_cbor" "the CBOR is invalid: truncated, followed by bytes, with a repeated key, or of indefinite length",
    CborTooDeep "cbor_too_deep" "the CBOR is nested too deeply, or has too many items",
    ResponseVersion "response_version" "the version of the DeviceResponse is not supported",
    ResponseStatus "response_status" "the DeviceResponse reports an error",
    DocumentCount "document_count" "the DeviceResponse doesn't hold exactly one document",
    DocumentErrors "document_errors" "the DeviceResponse reports errors for requested elements",
    DocTypeMismatch "doc_type_mismatch" "the document and its mobile security object have different types",
    MsoVersion "mso_version" "the version of the mobile security object is not supported",
    MsoDigestAlgorithm "mso_digest_algorithm" "the digest algorithm of the mobile security object is not supported",
    DigestMissing "digest_missing" "the mobile security object has no digest for a returned element",
    DigestMismatch "digest_mismatch" "an element differs from its digest in the mobile security object",
    RepeatedElement "repeated_element" "a data element is returned twice",
    ElementSalt "element_salt" "the random of a data element is shorter than 16 bytes",
    SignedOutsideCertificate "signed_outside_certificate" "the credential was signed outside the validity of its certificate",
    DeviceMac "device_mac" "the holder used a MAC, which the request doesn't offer",
    DeviceAuthMissing "device_auth_missing" "the document has no signature of the device",
    KeyNotAuthorized "key_not_authorized" "the device signed elements that its key is not authorized for",
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_reason_has_a_label_of_its_own() {
        let labels: BTreeSet<_> = PresentationError::ALL.iter().map(|e| e.label()).collect();
        assert_eq!(labels.len(), PresentationError::ALL.len());
        assert!(labels.iter().all(|l| l.chars().all(|c| c.is_ascii_lowercase() || c == '_')));
    }
}
