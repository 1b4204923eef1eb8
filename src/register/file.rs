//! A register in one CSV file, read once and kept compact: the embedded default, for trials and small federations.
//!
//! Owns: the file's form, and the lookup by normalised pivot. Must not know: who asks, or why.
//!
//! Header: `given_names,family_name,birthdate,gender,birthplace,birthcountry,status`, in any order; given names are
//! separated by spaces; `status` is `active` (or empty), `deceased` or `refused`. The claims keep the rules of
//! [`crate::identity::rules`]. A million persons take about 80 bytes each, and a lookup a few microseconds: rows lie
//! end to end in one text, and a sorted table leads from the hash of a normalised pivot to a row.

pub mod import;

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read;
use std::path::Path;

use async_trait::async_trait;
use csv::StringRecord;
use serde_json::{Map, Value};

use super::{Answer, Register, RegisterFault};
use crate::identity::pivot::{Derivation, Pivot};
use crate::identity::rules::{Required, Rules};
use crate::identity::standard::StandardClaims;
use crate::identity::{Claim, Identity};
use crate::ids::SupportId;

/// The register in memory.
pub struct FileRegister {
    /// Rows of [`WIDTH`] cells, each cell ended by [`END`], which no claim may contain.
    text: String,
    /// (hash of the normalised pivot, where the row begins in `text`), sorted.
    index: Box<[(u64, u32)]>,
    home_country: String,
}

/// Why a register file is unusable: file, place and mend, never a person's data.
#[derive(thiserror::Error, Debug)]
pub enum FileRegisterFault {
    #[error(
        "{file}: can not be read ({reason}): check that the path is right (in the configuration: `register.file.path`), and the file's permissions"
    )]
    Unreadable { file: String, reason: std::io::ErrorKind },
    #[error("{file}: column `{column}` is missing: the first line must name {expected}, separated by commas", expected = COLUMNS.join(","))]
    ColumnMissing { file: String, column: &'static str },
    #[error("{file}: column {position} is unknown, or there twice: the first line must name {expected}, separated by commas", expected = COLUMNS.join(","))]
    ColumnUnknown { file: String, position: usize },
    #[error(
        "{file}: line {line}: {found} fields instead of {expected}: put a field that contains a comma in quotation marks"
    )]
    FieldCount { file: String, line: u64, found: u64, expected: u64 },
    #[error("{file}: line {line}: not UTF-8: save the file as UTF-8")]
    NotUtf8 { file: String, line: u64 },
    #[error("{file}: line {line}: column `{column}`: {rule}")]
    Cell { file: String, line: u64, column: &'static str, rule: String },
    #[error("{file}: larger than 4 GiB in memory: use the `http` register")]
    TooLarge { file: String },
}

impl FileRegister {
    /// Reads a register from a file.
    ///
    /// # Errors
    /// The first place where the file is unusable.
    pub fn load(path: &Path, home_country: &str) -> Result<Self, FileRegisterFault> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Self::from_reader(&name, file, home_country),
            Err(fault) => Err(FileRegisterFault::Unreadable { file: name, reason: fault.kind() }),
        }
    }

    /// Reads a register from anywhere; `name` stands for the file in errors.
    ///
    /// # Errors
    /// The first place where the text is unusable.
    pub fn from_reader(
        name: &str,
        reader: impl Read,
        home_country: &str,
    ) -> Result<Self, FileRegisterFault> {
        let (mut text, mut index) = (String::new(), Vec::new());
        each_row(name, reader, home_country, |row| {
            let (pivot, row) = row?;
            let start = u32::try_from(text.len())
                .map_err(|_| FileRegisterFault::TooLarge { file: name.to_owned() })?;
            index.push((hash(&pivot), start));
            row.write(&mut text);
            Ok(())
        })?;
        index.sort_unstable();
        text.shrink_to_fit();
        Ok(Self { text, index: index.into(), home_country: home_country.to_owned() })
    }

    /// How many rows the register has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The register's word on one person. An identity without a whole pivot names nobody: `NotFound`.
    #[must_use]
    pub fn find(&self, asked: &Identity) -> Answer {
        let Some(pivot) = Pivot::of(asked, &self.home_country, Derivation::LATEST) else {
            return Answer::NotFound;
        };
        let mut matches = self.candidates(hash(&pivot)).filter(|row| {
            // The hash only leads to the row: two persons may share one.
            Pivot::of(&row.identity, &self.home_country, Derivation::LATEST).as_ref()
                == Some(&pivot)
        });
        let Some(row) = matches.next() else { return Answer::NotFound };
        if matches.next().is_some() {
            return Answer::Several;
        }
        match row.status {
            Status::Active if written_alike(asked, &row.identity) => {
                Answer::Found(Box::new(row.identity))
            }
            Status::Active => Answer::Corrected(Box::new(row.identity)),
            Status::Deceased => Answer::Deceased,
            Status::Refused => Answer::Refused,
        }
    }

    fn candidates(&self, hash: u64) -> impl Iterator<Item = Row> {
        let first = self.index.partition_point(|(other, _)| *other < hash);
        let rest = self.index.get(first..).unwrap_or_default();
        rest.iter().take_while(move |(other, _)| *other == hash).filter_map(|(_, start)| {
            let start = usize::try_from(*start).ok()?;
            Row::read(self.text.get(start..)?)
        })
    }
}

#[async_trait]
impl Register for FileRegister {
    async fn identify(&self, pivot: &Identity, _: &SupportId) -> Result<Answer, RegisterFault> {
        Ok(self.find(pivot))
    }
}

impl std::fmt::Debug for FileRegister {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileRegister({} rows)", self.len())
    }
}

const WIDTH: usize = 7;
const COLUMNS: [&str; WIDTH] =
    ["given_names", "family_name", "birthdate", "gender", "birthplace", "birthcountry", STATUS];
const STATUS: &str = "status";
/// Between given names, in memory.
const COMMA: char = '\u{1e}';
/// After each cell, in memory.
const END: char = '\u{1f}';

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Active,
    Deceased,
    Refused,
}

struct Row {
    identity: Identity,
    status: Status,
}

impl Row {
    fn write(&self, text: &mut String) {
        for (position, name) in self.identity.given_names.iter().enumerate() {
            if position > 0 {
                text.push(COMMA);
            }
            text.push_str(name);
        }
        let Identity { family_name, birthdate, gender, birthplace, birthcountry, .. } =
            &self.identity;
        for cell in [family_name, birthdate, gender, birthplace, birthcountry] {
            text.push(END);
            text.push_str(cell.as_deref().unwrap_or_default());
        }
        text.push(END);
        text.push(match self.status {
            Status::Active => 'a',
            Status::Deceased => 'd',
            Status::Refused => 'r',
        });
        text.push(END);
    }

    /// The row at the beginning of `text`. `None` never happens: only [`Row::write`] fills the text.
    fn read(text: &str) -> Option<Self> {
        let mut cells = text.split(END);
        let given_names = cells.next()?;
        let mut cell = || cells.next().map(|cell| (!cell.is_empty()).then(|| cell.to_owned()));
        Some(Self {
            identity: Identity {
                given_names: given_names
                    .split(COMMA)
                    .filter(|name| !name.is_empty())
                    .map(String::from)
                    .collect(),
                family_name: cell()?,
                birthdate: cell()?,
                gender: cell()?,
                birthplace: cell()?,
                birthcountry: cell()?,
                email: None,
                preferred_username: None,
                standard: StandardClaims::new(),
            },
            status: match cells.next()? {
                "a" => Status::Active,
                "d" => Status::Deceased,
                "r" => Status::Refused,
                _ => return None,
            },
        })
    }
}

/// Hands every row of a register's text to `take`, good or bad; goes on until `take` fails, or nothing more can be read.
fn each_row(
    name: &str,
    reader: impl Read,
    home_country: &str,
    mut take: impl FnMut(Result<(Pivot, Row), FileRegisterFault>) -> Result<(), FileRegisterFault>,
) -> Result<(), FileRegisterFault> {
    let rules = Rules { home_country: home_country.to_owned(), required: Required::Pivot };
    let mut csv = csv::Reader::from_reader(reader);
    let columns = columns(csv.headers().map_err(|fault| fault_of(name, &fault))?, name)?;
    let mut record = StringRecord::new();
    loop {
        match csv.read_record(&mut record).map_err(|fault| fault_of(name, &fault)) {
            Ok(false) => return Ok(()),
            Err(fault @ FileRegisterFault::Unreadable { .. }) => return Err(fault),
            Err(fault) => take(Err(fault))?,
            Ok(true) => {
                let cells = columns.map(|column| record.get(column).unwrap_or_default());
                take(check(cells, &rules).map_err(|(column, rule)| {
                    let line = record.position().map_or(0, csv::Position::line);
                    FileRegisterFault::Cell { file: name.to_owned(), line, column, rule }
                }))?;
            }
        }
    }
}

/// Where each of [`COLUMNS`] stands in the file.
fn columns(header: &StringRecord, file: &str) -> Result<[usize; WIDTH], FileRegisterFault> {
    let mut columns = [None; WIDTH];
    for (position, written) in header.iter().enumerate() {
        let slot = COLUMNS
            .iter()
            .position(|column| *column == written.trim())
            .and_then(|known| columns.get_mut(known));
        match slot {
            Some(slot @ None) => *slot = Some(position),
            Some(Some(_)) | None => {
                return Err(FileRegisterFault::ColumnUnknown {
                    file: file.to_owned(),
                    position: position + 1,
                });
            }
        }
    }
    if let Some((column, _)) = COLUMNS.iter().zip(columns).find(|(_, position)| position.is_none())
    {
        return Err(FileRegisterFault::ColumnMissing { file: file.to_owned(), column });
    }
    Ok(columns.map(Option::unwrap_or_default))
}

/// A row that keeps the identity's rules, or the column and the rule that it breaks.
fn check(cells: [&str; WIDTH], rules: &Rules) -> Result<(Pivot, Row), (&'static str, String)> {
    let [given_names, family_name, birthdate, gender, birthplace, birthcountry, status] = cells;
    let claims: Map<String, Value> = [
        (Claim::GivenName, given_names),
        (Claim::FamilyName, family_name),
        (Claim::Birthdate, birthdate),
        (Claim::Gender, gender),
        (Claim::Birthplace, birthplace),
        (Claim::Birthcountry, birthcountry),
    ]
    .into_iter()
    .map(|(claim, cell)| (claim.as_str().to_owned(), Value::from(cell)))
    .collect();
    let status = match status {
        "" | "active" => Status::Active,
        "deceased" => Status::Deceased,
        "refused" => Status::Refused,
        _ => return Err((STATUS, "must be active (or empty), deceased or refused".into())),
    };
    let identity = Identity::from_claims(&claims, rules).map_err(|fault| {
        let column = match fault.claim {
            Claim::GivenName | Claim::GivenNameArray => "given_names",
            other => other.as_str(),
        };
        (column, fault.rule.to_string())
    })?;
    let pivot = Pivot::of(&identity, &rules.home_country, Derivation::LATEST);
    let pivot = pivot.ok_or(("family_name", "the row names nobody".to_owned()))?;
    Ok((pivot, Row { identity, status }))
}

fn fault_of(file: &str, fault: &csv::Error) -> FileRegisterFault {
    let file = file.to_owned();
    let line = fault.position().map_or(1, csv::Position::line);
    match fault.kind() {
        csv::ErrorKind::Io(fault) => FileRegisterFault::Unreadable { file, reason: fault.kind() },
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            FileRegisterFault::FieldCount { file, line, found: *len, expected: *expected_len }
        }
        // The kinds that are left belong to writing, seeking and serde, none of which happens here; the enum is open.
        _ => FileRegisterFault::NotUtf8 { file, line },
    }
}

fn hash(pivot: &Pivot) -> u64 {
    let mut hasher = DefaultHasher::new();
    pivot.hash(&mut hasher);
    hasher.finish()
}

/// True if the register writes the pivot identity exactly as it was asked.
fn written_alike(asked: &Identity, known: &Identity) -> bool {
    let contact_aside = Identity {
        email: None,
        preferred_username: None,
        standard: StandardClaims::new(),
        given_names: Vec::new(),
        ..asked.clone()
    };
    contact_aside == Identity { given_names: Vec::new(), ..known.clone() }
        && asked.given_name() == known.given_name()
}

#[cfg(test)]
mod tests;
