//! Errors of the directory's responses, for the operator.

use ldap3::LdapError;

use super::result_code;
use passerelle_connector::error::ConnectorError;
use passerelle_protocol::catalogue::ErrorCode;

pub(super) fn malformed_entry() -> ConnectorError {
    ConnectorError::new(ErrorCode::LdapAnswer, "an entry is malformed")
}

pub(super) fn unexpected_result(operation: &str, result: u32) -> ConnectorError {
    let meaning = result_code::describe(result).unwrap_or("RFC 4511 appendix A");
    ConnectorError::new(
        ErrorCode::LdapAnswer,
        format!("{operation} failed with result {result} ({meaning})"),
    )
}

/// Converts an error of `ldap3` without details that may name a user.
pub(super) fn ldap_error(error: &LdapError) -> ConnectorError {
    match error {
        LdapError::Io { source } => ConnectorError::new(
            ErrorCode::IdpUnreachable,
            format!("the connection failed: {}", source.kind()),
        ),
        LdapError::LdapResult { result } => unexpected_result("an operation", result.rc),
        LdapError::Timeout { .. } => {
            ConnectorError::new(ErrorCode::IdpTimeout, "the directory did not answer in time")
        }
        _ => ConnectorError::new(
            ErrorCode::LdapAnswer,
            "the connection ended before the response, or the response is malformed",
        ),
    }
}
