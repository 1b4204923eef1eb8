//! LDAP result codes (RFC 4511, appendix A), and what those of a failed bind mean.

/// The operation succeeded.
pub(super) const SUCCESS: u32 = 0;
/// The search found more entries than the requested size limit.
pub(super) const SIZE_LIMIT_EXCEEDED: u32 = 4;
/// Directories report a locked account by it.
pub(super) const CONSTRAINT_VIOLATION: u32 = 19;
/// The name or the password is wrong.
pub(super) const INVALID_CREDENTIALS: u32 = 49;
pub(super) const INSUFFICIENT_ACCESS_RIGHTS: u32 = 50;
pub(super) const UNWILLING_TO_PERFORM: u32 = 53;
/// Codes for a wrong name or password, or a locked, restricted or passwordless account.
pub(super) const BIND_REJECTED: [u32; 7] = [
    CONSTRAINT_VIOLATION,
    32,
    34,
    48,
    INVALID_CREDENTIALS,
    INSUFFICIENT_ACCESS_RIGHTS,
    UNWILLING_TO_PERFORM,
];

/// Returns the meaning of a bind that fails for a reason other than a wrong name or password,
/// for the operator.
pub(super) const fn describe(result: u32) -> Option<&'static str> {
    match result {
        7 => Some("authMethodNotSupported: the directory allows no simple bind; allow it over TLS"),
        8 => Some("strongerAuthRequired: the directory demands TLS; use ldaps, or starttls = true"),
        13 => Some(
            "confidentialityRequired: the directory demands TLS; use ldaps, or starttls = true",
        ),
        CONSTRAINT_VIOLATION => Some(
            "constraintViolation: the account is locked, usually after too many wrong passwords",
        ),
        INSUFFICIENT_ACCESS_RIGHTS => Some(
            "insufficientAccessRights: the account may not bind; check the directory's access \
             rules",
        ),
        UNWILLING_TO_PERFORM => Some(
            "unwillingToPerform: the account is locked, disabled or without a password, or the \
             directory temporarily rejects binds from this address after many failures; look \
             at the account, and at the directory's log",
        ),
        _ => None,
    }
}
