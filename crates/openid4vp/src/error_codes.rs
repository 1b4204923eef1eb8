//! The rows of the error catalogue for wallets.

use passerelle_protocol::catalogue::{
    CatalogueEntry, ErrorCode, ErrorOrigin, LogSeverity, ResponsibleParty,
};

pub const WALLET_REQUEST_UNKNOWN: ErrorCode = ErrorCode::Extension(&CatalogueEntry {
    code: "Y020500",
    status: 400,
    oauth: "invalid_request",
    severity: LogSeverity::Info,
    origin: ErrorOrigin::User,
    responsible: ResponsibleParty::User,
    page_text: "error-wallet-request",
    description: "The wallet's request is unknown, has expired, or was answered already.",
    depends_on_clock: false,
});
pub const WALLET_RESPONSE_MALFORMED: ErrorCode = ErrorCode::Extension(&CatalogueEntry {
    code: "Y020501",
    status: 400,
    oauth: "invalid_request",
    severity: LogSeverity::Info,
    origin: ErrorOrigin::User,
    responsible: ResponsibleParty::IdentityProvider,
    page_text: "error-wallet-presentation",
    description: "The wallet's response is malformed, or not encrypted as requested.",
    depends_on_clock: false,
});
pub const WALLET_RESPONSE_KEY: ErrorCode = ErrorCode::Extension(&CatalogueEntry {
    code: "Y020502",
    status: 400,
    oauth: "invalid_request",
    severity: LogSeverity::Info,
    origin: ErrorOrigin::User,
    responsible: ResponsibleParty::IdentityProvider,
    page_text: "error-wallet-presentation",
    description: "The wallet's response is not encrypted to the key of its request.",
    depends_on_clock: false,
});
pub const WALLET_PRESENTATION_INVALID: ErrorCode = ErrorCode::Extension(&CatalogueEntry {
    code: "Y020510",
    status: 403,
    oauth: "access_denied",
    severity: LogSeverity::Warn,
    origin: ErrorOrigin::User,
    responsible: ResponsibleParty::IdentityProvider,
    page_text: "error-wallet-presentation",
    description: "The presentation of the wallet is invalid.",
    depends_on_clock: false,
});
pub const WALLET_ISSUER_UNTRUSTED: ErrorCode = ErrorCode::Extension(&CatalogueEntry {
    code: "Y020511",
    status: 403,
    oauth: "access_denied",
    severity: LogSeverity::Warn,
    origin: ErrorOrigin::User,
    responsible: ResponsibleParty::Operator,
    page_text: "error-wallet-issuer",
    description: "The issuer of the credential is not among the trusted ones.",
    depends_on_clock: false,
});
pub const WALLET_CREDENTIAL_EXPIRED: ErrorCode = ErrorCode::Extension(&CatalogueEntry {
    code: "Y020512",
    status: 403,
    oauth: "access_denied",
    severity: LogSeverity::Info,
    origin: ErrorOrigin::User,
    responsible: ResponsibleParty::User,
    page_text: "error-wallet-expired",
    description: "The credential, or the certificate of its issuer, has expired.",
    depends_on_clock: true,
});
pub const WALLET_CREDENTIAL_REVOKED: ErrorCode = ErrorCode::Extension(&CatalogueEntry {
    code: "Y020513",
    status: 403,
    oauth: "access_denied",
    severity: LogSeverity::Info,
    origin: ErrorOrigin::User,
    responsible: ResponsibleParty::User,
    page_text: "error-wallet-revoked",
    description: "The credential is revoked or suspended.",
    depends_on_clock: false,
});
pub const WALLET_CLAIM_MISSING: ErrorCode = ErrorCode::Extension(&CatalogueEntry {
    code: "Y020514",
    status: 403,
    oauth: "access_denied",
    severity: LogSeverity::Info,
    origin: ErrorOrigin::User,
    responsible: ResponsibleParty::User,
    page_text: "error-wallet-claim",
    description: "The wallet did not disclose a claim that is required.",
    depends_on_clock: false,
});
pub const WALLET_STATUS_UNAVAILABLE: ErrorCode = ErrorCode::Extension(&CatalogueEntry {
    code: "Y020520",
    status: 502,
    oauth: "temporarily_unavailable",
    severity: LogSeverity::Error,
    origin: ErrorOrigin::User,
    responsible: ResponsibleParty::Operator,
    page_text: "error-idp-trouble",
    description: "The status list of the credential can't be used.",
    depends_on_clock: false,
});
pub const WALLET_TRUST_UNAVAILABLE: ErrorCode = ErrorCode::Extension(&CatalogueEntry {
    code: "Y020521",
    status: 502,
    oauth: "temporarily_unavailable",
    severity: LogSeverity::Error,
    origin: ErrorOrigin::User,
    responsible: ResponsibleParty::Operator,
    page_text: "error-idp-trouble",
    description: "A list of trusted issuers can't be used.",
    depends_on_clock: false,
});

/// Every code.
pub const ALL: &[ErrorCode] = &[
    WALLET_REQUEST_UNKNOWN,
    WALLET_RESPONSE_MALFORMED,
    WALLET_RESPONSE_KEY,
    WALLET_PRESENTATION_INVALID,
    WALLET_ISSUER_UNTRUSTED,
    WALLET_CREDENTIAL_EXPIRED,
    WALLET_CREDENTIAL_REVOKED,
    WALLET_CLAIM_MISSING,
    WALLET_STATUS_UNAVAILABLE,
    WALLET_TRUST_UNAVAILABLE,
];
