//! Modules of the plan *Dynamic OP* that Basic OP and Config OP lack.

/// The modules.
pub(super) const DYNAMIC: &[&str] = &[
    "the modules that are in Basic OP or Config OP, too",
    "oidcc-idtoken-rs256",
    "oidcc-userinfo-rs256",
    "oidcc-ensure-redirect-uri-in-authorization-request",
    "oidcc-redirect-uri-query-OK",
    "oidcc-redirect-uri-query-mismatch",
    "oidcc-redirect-uri-query-added",
    "oidcc-redirect-uri-regfrag",
    "oidcc-registration-logo-uri",
    "oidcc-registration-policy-uri",
    "oidcc-registration-tos-uri",
    "oidcc-registration-jwks-uri",
    "oidcc-registration-sector-uri",
    "oidcc-registration-sector-bad",
    "oidcc-refresh-token-rp-key-rotation",
    "oidcc-server-rotate-keys",
    "oidcc-request-uri-unsigned",
    "oidcc-request-uri-signed-rs256",
    "oidcc-ensure-client-assertion-with-iss-aud-succeeds",
];

/// How a run of one ends, where it does not end as `shown`.
pub(super) const ENDS: &[(&str, &str)] = &[
    ("the modules that are in Basic OP or Config OP, too", "as there"),
    ("oidcc-registration-logo-uri", "not supported"),
    ("oidcc-registration-policy-uri", "not supported"),
    ("oidcc-registration-tos-uri", "not supported"),
    ("oidcc-registration-jwks-uri", "not supported"),
    ("oidcc-registration-sector-uri", "not supported"),
    ("oidcc-refresh-token-rp-key-rotation", "not supported"),
    ("oidcc-request-uri-unsigned", "not supported"),
    ("oidcc-request-uri-signed-rs256", "not supported"),
];
