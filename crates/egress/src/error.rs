//! Error of an outgoing call.

/// Error of an outgoing call. Contains at most the host, never a path, query or body.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum EgressError {
    #[error("{0}")]
    AddressForbidden(String),
    #[error("{host} can't be reached: {why}")]
    Unreachable { host: String, why: String },
    /// The server's certificate has expired, or is not valid yet: one of the clocks may be wrong.
    /// `limit` is its last or first second, `now` the hub's time, in seconds since 1970.
    #[error("{host} can't be reached: {why}")]
    CertificateTime { host: String, why: String, limit: u64, now: u64 },
    #[error("{0} did not answer in time")]
    Timeout(String),
    #[error("the response of {host} is larger than {limit} bytes")]
    TooLarge { host: String, limit: usize },
    #[error(
        "the response of {host} is encoded as {coding}, which the hub did not ask for and can't decode"
    )]
    Encoding { host: String, coding: String },
}
