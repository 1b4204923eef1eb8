//! Range retrieval of Active Directory ([MS-ADTS] §3.1.1.3.1.3.3): of an attribute with more values
//! than its limit (`MaxValRange`, usually 1,500) it sends the first ones, under a name with an
//! option: `memberOf;range=0-1499`. The client asks for the others.

use ldap3::{Ldap, Scope};

use super::entry::{MAX_ENTRY_BYTES, MissingRange, SearchResultEntry};
use super::result_code;
use super::search::search;
use passerelle_connector::error::ConnectorError;

/// Limit of requests for one entry.
const MAX_RANGE_REQUESTS: usize = 64;

/// Reads the values that the directory did not send with an entry. An attribute stays in
/// `missing_ranges` if not all of its values could be read within the limits of an entry.
///
/// # Errors
/// Returns an error if the directory does not answer.
pub(super) async fn read_missing_ranges(
    ldap: &mut Ldap,
    entry: &mut SearchResultEntry,
) -> Result<(), ConnectorError> {
    let mut unread = Vec::new();
    let mut requests = 0;
    while let Some(missing) = entry.missing_ranges.pop() {
        if requests == MAX_RANGE_REQUESTS || entry.value_bytes() > MAX_ENTRY_BYTES {
            unread.push(missing);
            continue;
        }
        requests += 1;
        let MissingRange { attribute, start } = &missing;
        let name = [format!("{attribute};range={start}-*")];
        let found = search(ldap, &entry.dn, Scope::Base, "(objectClass=*)", &name).await?;
        let more = found.entries.into_iter().next();
        match more.filter(|_| found.result == result_code::SUCCESS) {
            Some(more) => entry.append(attribute, more),
            None => unread.push(missing),
        }
    }
    entry.missing_ranges = unread;
    Ok(())
}
