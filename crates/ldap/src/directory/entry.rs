//! Entries of a search result, whose attributes are text or binary by their name.
//!
//! LDAP sends bytes, and the schema says what they are (RFC 4517). A value never decides: a binary
//! identifier may be valid UTF-8 by chance, and a name may be written in Latin-1 by mistake.

use ldap3::ResultEntry;
use ldap3::asn1::StructureTag;

/// Size limit of all values of an entry, in bytes: 2,000 groups with names of 96 characters.
pub(super) const MAX_ENTRY_BYTES: usize = 192 * 1024;

/// Application tag of an entry (RFC 4511 §4.5.2).
const SEARCH_RESULT_ENTRY: u64 = 4;

/// Attributes of the standard schemas and of Active Directory whose values are binary (RFC 4519,
/// RFC 4523, RFC 2798), in lower case.
const BINARY_ATTRIBUTES: [&str; 14] = [
    "audio",
    "authorityrevocationlist",
    "cacertificate",
    "certificaterevocationlist",
    "jpegphoto",
    "ms-ds-consistencyguid",
    "objectguid",
    "objectsid",
    "photo",
    "sidhistory",
    "thumbnailphoto",
    "usercertificate",
    "userpkcs12",
    "usersmimecertificate",
];

/// An entry of a search result.
pub struct SearchResultEntry {
    pub dn: String,
    attributes: Vec<(String, Vec<Vec<u8>>)>,
    /// Attributes of which the directory has more values than it sent.
    pub missing_ranges: Vec<MissingRange>,
}

impl SearchResultEntry {
    /// Reads an entry (RFC 4511 §4.5.2); `None` if it is malformed. `SearchEntry::construct` of
    /// `ldap3` panics on a malformed entry, and types values by their bytes.
    pub fn read(entry: ResultEntry) -> Option<Self> {
        let mut parts = entry.0.match_id(SEARCH_RESULT_ENTRY)?.expect_constructed()?.into_iter();
        let dn = String::from_utf8(parts.next()?.expect_primitive()?).ok()?;
        let (mut attributes, mut missing_ranges) = (Vec::new(), Vec::new());
        for attribute in parts.next()?.expect_constructed()? {
            let mut attribute = attribute.expect_constructed()?.into_iter();
            let name = String::from_utf8(attribute.next()?.expect_primitive()?).ok()?;
            let values = attribute.next()?.expect_constructed()?.into_iter();
            let (name, missing) = split_range(&name);
            missing_ranges.extend(missing);
            attributes
                .push((name, values.map(StructureTag::expect_primitive).collect::<Option<_>>()?));
        }
        Some(Self { dn, attributes, missing_ranges })
    }

    /// Adds the values that a further part of this entry has of an attribute.
    pub(super) fn append(&mut self, attribute: &str, more: Self) {
        let is_same = |name: &str| name.eq_ignore_ascii_case(attribute);
        self.attributes.extend(more.attributes.into_iter().filter(|(name, _)| is_same(name)));
        let ranges = more.missing_ranges.into_iter();
        self.missing_ranges.extend(ranges.filter(|range| is_same(&range.attribute)));
    }

    /// Returns the size of all values, in bytes.
    pub(super) fn value_bytes(&self) -> usize {
        self.attributes.iter().flat_map(|(_, values)| values).map(Vec::len).sum()
    }

    /// Returns the values of an attribute. Names are case-insensitive (RFC 4512 §2.5).
    pub fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.attributes
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .flat_map(|(_, values)| values.iter().map(Vec::as_slice))
    }

    /// Returns the first value of an attribute, if it is text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        str::from_utf8(self.values(name).next()?).ok()
    }
}

/// The attributes whose values are binary.
pub(super) struct BinaryAttributes {
    /// In lower case.
    configured: Vec<String>,
}

impl BinaryAttributes {
    /// Returns the attributes of the standard schemas, and these.
    pub(super) fn new(configured: &[String]) -> Self {
        Self { configured: configured.iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Returns a value as text: of a binary attribute in hexadecimal; `None` if the value of a text
    /// attribute is not UTF-8 (RFC 4517 §3.3.6).
    pub(super) fn decode(&self, name: &str, value: &[u8]) -> Option<String> {
        if self.contains(name) {
            return Some(value.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        str::from_utf8(value).ok().map(str::to_owned)
    }

    /// The option `binary` says that the values are in BER (RFC 4522).
    fn contains(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let mut parts = name.split(';');
        let attribute = parts.next().unwrap_or_default();
        parts.any(|option| option == "binary")
            || BINARY_ATTRIBUTES.contains(&attribute)
            || self.configured.iter().any(|configured| configured == attribute)
    }
}

/// Where the values of an attribute go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingRange {
    /// Name without the option.
    pub attribute: String,
    /// Index of the first value that was not sent.
    pub start: u32,
}

/// Splits the option from the name of an attribute, and returns where its values go on, if they do.
fn split_range(name: &str) -> (String, Option<MissingRange>) {
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
