//! Range retrieval of Active Directory ([MS-ADTS] §3.1.1.3.1.3.3): of an attribute with more values
//! than its limit (`MaxValRange`, usually 1,500) it sends the first ones, under a name with an
//! option: `memberOf;range=0-1499`. The client asks for the others.

use ldap3::{Ldap, Scope};

use super::entry::SearchResultEntry;
use super::search::search;
use super::{MAX_ENTRY_BYTES, result_code};
use crate::connector::error::ConnectorError;

/// Limit of requests for one entry.
const MAX_RANGE_REQUESTS: usize = 64;

/// Where the values of an attribute go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MissingRange {
    /// Name without the option.
    pub attribute: String,
    /// Index of the first value that was not sent.
    pub start: u32,
}

/// Splits the option from the name of an attribute, and returns where its values go on, if they do.
pub(super) fn split_range(name: &str) -> (String, Option<MissingRange>) {
    let is_range =
        |part: &&str| part.get(..6).is_some_and(|key| key.eq_ignore_ascii_case("range="));
    let Some(option) = name.split(';').skip(1).find(is_range) else {
        return (name.to_owned(), None);
    };
    let attribute = name.replacen(&format!(";{option}"), "", 1);
    let end = option.rsplit_once('-').and_then(|(_, end)| end.parse::<u32>().ok());
    let start = end.and_then(|end| end.checked_add(1));
    (attribute.clone(), start.map(|start| MissingRange { attribute, start }))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_split_from_the_name_by_table() {
        for (name, attribute, start) in [
            ("memberOf", "memberOf", None),
            ("memberOf;range=0-1499", "memberOf", Some(1500)),
            ("memberOf;Range=1500-2999", "memberOf", Some(3000)),
            ("memberOf;range=3000-*", "memberOf", None),
            ("userCertificate;binary;range=0-9", "userCertificate;binary", Some(10)),
            ("cn;lang-fr", "cn;lang-fr", None),
            ("memberOf;range=", "memberOf", None),
            ("memberOf;range=0-4294967295", "memberOf", None),
            ("range=0-9", "range=0-9", None),
            ("é;€€€€", "é;€€€€", None),
        ] {
            let (split, missing) = split_range(name);
            assert_eq!(
                (split.as_str(), missing.map(|one| one.start)),
                (attribute, start),
                "{name}"
            );
        }
    }
}
