//! The rows of the error catalogue for SAML identity providers.

passerelle_protocol::error_codes! {
    SAML_METADATA = "Y020600" 502 "temporarily_unavailable" Error Upstream Operator "error-idp-trouble" "The metadata of the identity provider can't be used.";
    SAML_RESPONSE_MALFORMED = "Y020601" 400 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The SAML response of the identity provider is malformed.", CausedByBrowser;
    SAML_SIGNATURE = "Y020602" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The SAML response is not signed by a key of the identity provider's metadata.", CausedByBrowser;
    SAML_ENCRYPTION = "Y020603" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The SAML assertion can't be decrypted.", CausedByBrowser;
    SAML_OTHER_REQUEST = "Y020604" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The SAML response is from another issuer, or for another request, address or audience.", CausedByBrowser;
    SAML_TIME = "Y020605" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The SAML assertion is expired, not valid yet, or has no time." DependsOnClock, CausedByBrowser;
    SAML_CONTENT = "Y020606" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The SAML assertion lacks something that the profile demands.", CausedByBrowser;
    SAML_SUBJECT = "Y020607" 502 "server_error" Error Upstream IdentityProvider "error-idp-trouble" "The SAML assertion has no permanent identifier of the user.", CausedByBrowser;
    SAML_REPLAYED = "Y020608" 502 "server_error" Warn Upstream IdentityProvider "error-idp-trouble" "The SAML assertion was used before.", CausedByBrowser;
    SAML_LOGOUT = "Y020610" 400 "invalid_request" Warn Upstream IdentityProvider "error-bad-request" "The logout message of the identity provider is not accepted.", CausedByBrowser;
    SAML_REQUEST_REFUSED = "Y020609" 502 "server_error" Error Upstream Operator "error-idp-trouble" "The identity provider refuses the hub's SAML request.", CausedByBrowser;
}
