//! Modules of the plan *Dynamic OP* that Basic OP and Config OP lack.

/// The modules.
pub const DYNAMIC: &[&str] = &[
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
pub const ENDS: &[(&str, &str)] = &[
    ("the modules that are in Basic OP or Config OP, too", "as there"),
    ("oidcc-redirect-uri-regfrag", "not offered"),
    ("oidcc-registration-logo-uri", "not offered"),
    ("oidcc-registration-policy-uri", "not offered"),
    ("oidcc-registration-tos-uri", "not offered"),
    ("oidcc-registration-jwks-uri", "not offered"),
    ("oidcc-registration-sector-uri", "not offered"),
    ("oidcc-registration-sector-bad", "not offered"),
    ("oidcc-refresh-token-rp-key-rotation", "not offered"),
    ("oidcc-request-uri-unsigned", "not supported"),
    ("oidcc-request-uri-signed-rs256", "not supported"),
];
