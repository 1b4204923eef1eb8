//! Implements the register as one CSV file in memory, for trials and small federations.
//!
//! Responsible for the format of the file, and for the lookup by normalised pivot identity.
//!
//! Header: `given_names,family_name,birthdate,gender,birthplace,birthcountry,status`, in any order.
//! Given names are separated by spaces; `status` is `active` (or empty), `deceased` or `refused`.
//! The claims must keep the rules of [`passerelle_federation::identity::rules`]. A million persons take about 80
//! bytes each, and a lookup takes a few microseconds: rows are concatenated in one string, and a
//! sorted table maps the hash of a normalised pivot to a row.

pub mod import;
mod settings;
mod watched;

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read;
use std::path::Path;

use async_trait::async_trait;
use csv::StringRecord;
use serde_json::{Map, Value};

use super::{Register, RegisterAnswer, RegisterError};
use passerelle_federation::identity::pivot::Pivot;
use passerelle_federation::identity::rules::{IdentityRules, RequiredClaims};
use passerelle_federation::identity::{
    Claim, DeclaredValues, Identity, IdentityRule, StandardClaims,
};
use passerelle_protocol::ids::SupportId;

pub use settings::KIND;

/// Register file in memory.
pub struct FileRegister {
    /// Rows of [`COLUMN_COUNT`] cells, each terminated by [`CELL_END`], which no claim may contain.
    text: String,
    /// Sorted pairs of the hash of a normalised pivot and the offset of its row in `text`.
    index: Box<[(u64, u32)]>,
    home_country: String,
}

/// Error in a register file: its location and fix, without personal data.
#[derive(thiserror::Error, Debug)]
pub enum FileRegisterError {
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
    /// Returns the first error in the file.
    pub fn load(path: &Path, home_country: &str) -> Result<Self, FileRegisterError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Self::from_reader(&name, file, home_country),
            Err(error) => Err(FileRegisterError::Unreadable { file: name, reason: error.kind() }),
        }
    }

    /// Reads a register from a reader; `name` stands for the file in errors.
    ///
    /// # Errors
    /// Returns the first error in the text.
    pub fn from_reader(
        name: &str,
        reader: impl Read,
        home_country: &str,
    ) -> Result<Self, FileRegisterError> {
        let (mut text, mut index) = (String::new(), Vec::new());
        for_each_row(name, reader, home_country, |row| {
            let (pivot, row) = row?;
            let start = u32::try_from(text.len())
                .map_err(|_| FileRegisterError::TooLarge { file: name.to_owned() })?;
            index.push((pivot_hash(&pivot), start));
            row.write(&mut text);
            Ok(())
        })?;
        index.sort_unstable();
        text.shrink_to_fit();
        Ok(Self { text, index: index.into(), home_country: home_country.to_owned() })
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns whether the register has no row.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Looks up one person. Returns `NotFound` for an identity without a complete pivot.
    pub fn find(&self, queried: &Identity) -> RegisterAnswer {
        let Some(pivot) = Pivot::from_identity(queried, &self.home_country) else {
            return RegisterAnswer::NotFound;
        };
        let mut matches = self.candidates(pivot_hash(&pivot)).filter(|row| {
            // Two persons may share a hash.
            Pivot::from_identity(&row.identity, &self.home_country).as_ref() == Some(&pivot)
        });
        let Some(row) = matches.next() else { return RegisterAnswer::NotFound };
        if matches.next().is_some() {
            return RegisterAnswer::MultipleMatches;
        }
        match row.status {
            Status::Active if is_written_alike(queried, &row.identity) => {
                RegisterAnswer::Found(Box::new(row.identity))
            }
            Status::Active => RegisterAnswer::Corrected(Box::new(row.identity)),
            Status::Deceased => RegisterAnswer::Deceased,
            Status::Refused => RegisterAnswer::Refused,
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
    async fn identify(
        &self,
        pivot: &Identity,
        _: &SupportId,
    ) -> Result<RegisterAnswer, RegisterError> {
        Ok(self.find(pivot))
    }
}

const COLUMN_COUNT: usize = 7;
const COLUMNS: [&str; COLUMN_COUNT] =
    ["given_names", "family_name", "birthdate", "gender", "birthplace", "birthcountry", STATUS];
const STATUS: &str = "status";
/// Separator of given names, in memory.
const GIVEN_NAME_SEPARATOR: char = '\u{1e}';
/// Terminator of each cell, in memory.
const CELL_END: char = '\u{1f}';

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
                text.push(GIVEN_NAME_SEPARATOR);
            }
            text.push_str(name);
        }
        let Identity { family_name, birthdate, gender, birthplace, birthcountry, .. } =
            &self.identity;
        for cell in [family_name, birthdate, gender, birthplace, birthcountry] {
            text.push(CELL_END);
            text.push_str(cell.as_deref().unwrap_or_default());
        }
        text.push(CELL_END);
        text.push(match self.status {
            Status::Active => 'a',
            Status::Deceased => 'd',
            Status::Refused => 'r',
        });
        text.push(CELL_END);
    }

    /// Reads the row at the beginning of `text`, which only [`Row::write`] produces.
    fn read(text: &str) -> Option<Self> {
        let mut cells = text.split(CELL_END);
        let given_names = cells.next()?;
        let mut cell = || cells.next().map(|cell| (!cell.is_empty()).then(|| cell.to_owned()));
        Some(Self {
            identity: Identity {
                given_names: given_names
                    .split(GIVEN_NAME_SEPARATOR)
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
                declared: DeclaredValues::new(),
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

/// Passes every row of a register, valid or not, to `take`. Stops when `take` or reading fails.
fn for_each_row(
    name: &str,
    reader: impl Read,
    home_country: &str,
    mut take: impl FnMut(Result<(Pivot, Row), FileRegisterError>) -> Result<(), FileRegisterError>,
) -> Result<(), FileRegisterError> {
    let rules =
        IdentityRules { home_country: home_country.to_owned(), required: RequiredClaims::Pivot };
    let mut csv = csv::Reader::from_reader(reader);
    let columns = column_positions(csv.headers().map_err(|error| csv_error(name, &error))?, name)?;
    let mut record = StringRecord::new();
    loop {
        match csv.read_record(&mut record).map_err(|error| csv_error(name, &error)) {
            Ok(false) => return Ok(()),
            Err(error @ FileRegisterError::Unreadable { .. }) => return Err(error),
            Err(error) => take(Err(error))?,
            Ok(true) => {
                let cells = columns.map(|column| record.get(column).unwrap_or_default());
                take(parse_row(cells, &rules).map_err(|(column, rule)| {
                    let line = record.position().map_or(0, csv::Position::line);
                    FileRegisterError::Cell { file: name.to_owned(), line, column, rule }
                }))?;
            }
        }
    }
}

/// Returns the position of each of [`COLUMNS`] in the file.
fn column_positions(
    header: &StringRecord,
    file: &str,
) -> Result<[usize; COLUMN_COUNT], FileRegisterError> {
    let mut columns = [None; COLUMN_COUNT];
    for (position, written) in header.iter().enumerate() {
        let slot = COLUMNS
            .iter()
            .position(|column| *column == written.trim_ascii())
            .and_then(|known| columns.get_mut(known));
        match slot {
            Some(slot @ None) => *slot = Some(position),
            Some(Some(_)) | None => {
                return Err(FileRegisterError::ColumnUnknown {
                    file: file.to_owned(),
                    position: position + 1,
                });
            }
        }
    }
    if let Some((column, _)) = COLUMNS.iter().zip(columns).find(|(_, position)| position.is_none())
    {
        return Err(FileRegisterError::ColumnMissing { file: file.to_owned(), column });
    }
    Ok(columns.map(Option::unwrap_or_default))
}

/// Parses a row, or returns the column and the rule that it breaks.
fn parse_row(
    cells: [&str; COLUMN_COUNT],
    rules: &IdentityRules,
) -> Result<(Pivot, Row), (&'static str, String)> {
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
    let broken = |claim, rule: IdentityRule| {
        let column = match claim {
            Claim::GivenName | Claim::GivenNameArray => "given_names",
            other => other.as_str(),
        };
        (column, rule.to_string())
    };
    let (identity, dropped) = Identity::with_dropped_claims(&claims, rules)
        .map_err(|error| broken(error.claim, error.rule))?;
    // A register's own file has no malformed cell.
    if let Some(dropped) = dropped.first() {
        return Err(broken(dropped.claim, dropped.rule));
    }
    let pivot = Pivot::from_identity(&identity, &rules.home_country);
    let pivot = pivot.ok_or(("family_name", "the row identifies no person".to_owned()))?;
    Ok((pivot, Row { identity, status }))
}

fn csv_error(file: &str, error: &csv::Error) -> FileRegisterError {
    let file = file.to_owned();
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::Io(error) => FileRegisterError::Unreadable { file, reason: error.kind() },
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            FileRegisterError::FieldCount { file, line, found: *len, expected: *expected_len }
        }
        // The other kinds concern writing, seeking and serde, which are not used here.
        _ => FileRegisterError::NotUtf8 { file, line },
    }
}

fn pivot_hash(pivot: &Pivot) -> u64 {
    let mut hasher = DefaultHasher::new();
    pivot.hash(&mut hasher);
    hasher.finish()
}

/// Returns whether the register writes the pivot identity exactly as in the query.
fn is_written_alike(queried: &Identity, known: &Identity) -> bool {
    known.family_name == queried.family_name
        && known.birthdate == queried.birthdate
        && known.gender == queried.gender
        && known.birthplace == queried.birthplace
        && known.birthcountry == queried.birthcountry
        && known.given_name() == queried.given_name()
}

#[cfg(test)]
mod tests;
