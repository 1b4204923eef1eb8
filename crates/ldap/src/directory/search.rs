//! Searches of a check, for a bounded number of entries.

use ldap3::{Ldap, ResultEntry, Scope, SearchOptions};

use super::entry::SearchResultEntry;
use super::errors::{ldap_error, malformed_entry};
use super::result_code;
use passerelle_connector::error::ConnectorError;
use passerelle_egress::safe_http_client::CallLimits;

/// Number of entries that are examined.
pub(super) const MAX_EXAMINED_ENTRIES: i32 = 20;

/// What a search found.
pub(super) struct SearchOutcome {
    /// Result code.
    pub result: u32,
    pub entries: Vec<SearchResultEntry>,
}

/// Searches for a bounded number of entries. A result other than success is part of the response.
///
/// # Errors
/// Returns an error if the directory does not answer, or an entry is malformed.
pub(super) async fn search(
    ldap: &mut Ldap,
    base: &str,
    scope: Scope,
    filter: &str,
    attributes: &[String],
) -> Result<SearchOutcome, ConnectorError> {
    let seconds = i32::try_from(CallLimits::DEFAULT.total_timeout.as_secs()).unwrap_or(i32::MAX);
    ldap.with_search_options(
        SearchOptions::new().sizelimit(MAX_EXAMINED_ENTRIES).timelimit(seconds),
    );
    let mut stream = ldap
        .streaming_search(base, scope, filter, attributes.to_vec())
        .await
        .map_err(|error| ldap_error(&error))?;
    let mut entries = Vec::new();
    while let Some(item) = stream.next().await.map_err(|error| ldap_error(&error))? {
        let is_entry = |item: &ResultEntry| !item.is_ref() && !item.is_intermediate();
        if is_entry(&item) {
            entries.push(SearchResultEntry::read(item).ok_or_else(malformed_entry)?);
        }
        // Stops a directory that ignores the size limit.
        if entries.len() >= MAX_EXAMINED_ENTRIES.unsigned_abs() as usize {
            return Ok(SearchOutcome { result: result_code::SIZE_LIMIT_EXCEEDED, entries });
        }
    }
    Ok(SearchOutcome { result: stream.finish().await.rc, entries })
}
