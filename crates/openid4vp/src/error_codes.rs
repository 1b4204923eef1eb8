//! The rows of the error catalogue for wallets.

passerelle_protocol::error_codes! {
    WALLET_REQUEST_UNKNOWN = "Y020500" 400 "invalid_request" Info User User "error-wallet-request" "The wallet's request is unknown, has expired, or was answered already.";
    WALLET_RESPONSE_MALFORMED = "Y020501" 400 "invalid_request" Info User IdentityProvider "error-wallet-presentation" "The wallet's response is malformed, or not encrypted as requested.";
    WALLET_RESPONSE_KEY = "Y020502" 400 "invalid_request" Info User IdentityProvider "error-wallet-presentation" "The wallet's response is not encrypted to the key of its request.";
    WALLET_PRESENTATION_INVALID = "Y020510" 403 "access_denied" Warn User IdentityProvider "error-wallet-presentation" "The presentation of the wallet is invalid.";
    WALLET_ISSUER_UNTRUSTED = "Y020511" 403 "access_denied" Warn User Operator "error-wallet-issuer" "The issuer of the credential is not among the trusted ones.";
    WALLET_CREDENTIAL_EXPIRED = "Y020512" 403 "access_denied" Info User User "error-wallet-expired" "The credential, or the certificate of its issuer, has expired." DependsOnClock;
    WALLET_CREDENTIAL_REVOKED = "Y020513" 403 "access_denied" Info User User "error-wallet-revoked" "The credential is revoked or suspended.";
    WALLET_CLAIM_MISSING = "Y020514" 403 "access_denied" Info User User "error-wallet-claim" "The wallet did not disclose a claim that is required.";
    WALLET_STATUS_UNAVAILABLE = "Y020520" 502 "temporarily_unavailable" Error User Operator "error-idp-trouble" "The status list of the credential can't be used.";
    WALLET_TRUST_UNAVAILABLE = "Y020521" 502 "temporarily_unavailable" Error User Operator "error-idp-trouble" "A list of trusted issuers can't be used.";
}
