//! Names of places and countries by code, from CSV files of the operator.
//!
//! The files of INSEE's COG (`v_commune`, `v_pays_territoire`) can be used as published. The consent
//! page shows the names; nothing else depends on them.

use std::collections::BTreeMap;
use std::path::Path;

use csv::StringRecord;

use passerelle_settings::{Diagnostic, file_diagnostic};

/// Maximum size of a file: more than all municipalities of a country.
pub const MAX_PLACES_BYTES: usize = 16 * 1024 * 1024;
const MAX_NAME_CHARS: usize = 100;

/// Headers of the column of codes, and of the one of names for every language; in lower case.
const CODE_HEADERS: [&str; 3] = ["code", "com", "cog"];
const NAME_HEADERS: [&str; 3] = ["name", "libelle", "libcog"];

const HEADER_FIX: &str =
    "begin the file with a line such as code,name or code,fr,en (or use INSEE's headers)";

/// Names by code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceNames {
    /// The language of each name of a row; empty for one of every language.
    languages: Vec<Box<str>>,
    rows: BTreeMap<Box<str>, RowNames>,
}

/// The names of one code, by column.
type RowNames = Box<[Box<str>]>;

impl PlaceNames {
    /// Parses a CSV file in UTF-8, separated by commas. Of rows with the same code, the first
    /// counts: INSEE lists today's municipalities before those that have merged into them.
    ///
    /// # Errors
    /// Returns a diagnostic with the line.
    pub fn parse(file: &Path, bytes: &[u8]) -> Result<Self, Diagnostic> {
        let problem = |line: Option<u64>, message: &str, fix: &str| Diagnostic {
            line: line.and_then(|line| usize::try_from(line).ok()),
            ..file_diagnostic(file, message, fix)
        };
        if bytes.len() > MAX_PLACES_BYTES {
            return Err(problem(None, "is larger than 16 MiB", "keep the columns code and name"));
        }
        // Spreadsheets begin a file with a byte order mark.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut reader = csv::Reader::from_reader(bytes);
        let headers = reader
            .headers()
            .map_err(|_| problem(Some(1), "has no readable header", HEADER_FIX))?
            .clone();
        let columns = Columns::from_headers(&headers)
            .ok_or_else(|| problem(Some(1), "lacks a column of codes or of names", HEADER_FIX))?;
        let mut rows = BTreeMap::new();
        for record in reader.records() {
            let record = record.map_err(|error| {
                problem(
                    error.position().map(csv::Position::line),
                    "has a row that is not UTF-8, or has another number of fields than the header",
                    "save it as UTF-8, and put a name that contains a comma in quotation marks",
                )
            })?;
            let (code, names) = columns.row(&record).ok_or_else(|| {
                problem(
                    record.position().map(csv::Position::line),
                    "has a row without a code, or with a name over 100 characters or with control characters",
                    "correct the row, or remove it",
                )
            })?;
            rows.entry(code).or_insert(names);
        }
        Ok(Self { languages: columns.names.into_iter().map(|(_, tag)| tag).collect(), rows })
    }

    /// Returns the name of a code in a language, else in the file's first one.
    pub fn name(&self, code: &str, language: &str) -> Option<&str> {
        let names = self.rows.get(code)?;
        let position = |tag: &str| self.languages.iter().position(|known| &**known == tag);
        let own = position(language).or_else(|| position("")).unwrap_or(0);
        let mut known = names.iter().map(|name| &**name).filter(|name| !name.is_empty());
        let name = names.get(own).map(|name| &**name).filter(|name| !name.is_empty());
        name.or_else(|| known.next())
    }

    /// Returns the number of codes.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no codes.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// Positions of the columns.
struct Columns {
    code: usize,
    /// Position and language; without one, for every language.
    names: Vec<(usize, Box<str>)>,
}

impl Columns {
    fn from_headers(headers: &StringRecord) -> Option<Self> {
        let lower: Vec<String> =
            headers.iter().map(|name| name.trim_ascii().to_ascii_lowercase()).collect();
        let code = lower.iter().position(|name| CODE_HEADERS.contains(&name.as_str()))?;
        let is_language =
            |name: &str| name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_lowercase());
        let names: Vec<(usize, Box<str>)> = lower
            .iter()
            .enumerate()
            .filter_map(|(at, name)| match name.as_str() {
                name if NAME_HEADERS.contains(&name) => Some((at, "".into())),
                name if is_language(name) => Some((at, name.into())),
                _ => None,
            })
            .collect();
        (!names.is_empty()).then_some(Self { code, names })
    }

    /// Returns code and names of a row; `None` if one is unusable.
    fn row(&self, record: &StringRecord) -> Option<(Box<str>, RowNames)> {
        let code = record.get(self.code).map(str::trim_ascii).filter(|code| !code.is_empty())?;
        let is_plain = |name: &str| {
            name.chars().count() <= MAX_NAME_CHARS && !name.chars().any(char::is_control)
        };
        let names = self.names.iter().map(|(at, _)| {
            record.get(*at).map(str::trim_ascii).filter(|name| is_plain(name)).map(Into::into)
        });
        Some((code.into(), names.collect::<Option<_>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<PlaceNames, Diagnostic> {
        PlaceNames::parse(Path::new("places.csv"), text.as_bytes())
    }

    #[test]
    fn names_come_by_code_and_language() {
        let one = parse("code,name\n75107,Paris 7e\n2A004, Ajaccio \n").unwrap();
        assert_eq!((one.len(), one.name("2A004", "en")), (2, Some("Ajaccio")));
        assert_eq!(one.name("99999", "fr"), None);
        let many = parse("\u{feff}code,fr,en\n99139,Portugal,Portugal\n99109,Allemagne,Germany\n99110,Autriche,\n").unwrap();
        assert_eq!(many.name("99109", "en"), Some("Germany"));
        assert_eq!(many.name("99109", "de"), Some("Allemagne"), "the first column");
        assert_eq!(many.name("99110", "en"), Some("Autriche"), "an empty cell");
    }

    #[test]
    fn insee_s_files_are_read_as_published() {
        let communes = parse(
            "TYPECOM,COM,REG,DEP,CTCD,ARR,TNCC,NCC,NCCENR,LIBELLE,CAN,COMPARENT\n\
             COM,44109,52,44,44D,442,0,NANTES,Nantes,Nantes,4499,\n\
             ARM,75107,11,75,75C,,0,PARIS 7,Paris 7e Arrondissement,\"Paris 7e Arrondissement\",,75056\n\
             COMD,44109,,,,,0,OTHER,Other,Other,,44109\n",
        )
        .unwrap();
        assert_eq!(communes.name("75107", "fr"), Some("Paris 7e Arrondissement"));
        assert_eq!(communes.name("44109", "fr"), Some("Nantes"), "the first row counts");
        let countries = parse(
            "COG,ACTUAL,CRPAY,ANI,LIBCOG,LIBENR,CODEISO2,CODEISO3,CODENUM3\n\
             99109,1,,,ALLEMAGNE,République fédérale d'Allemagne,DE,DEU,276\n",
        )
        .unwrap();
        assert_eq!(countries.name("99109", "fr"), Some("ALLEMAGNE"));
    }

    #[test]
    fn an_unusable_file_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("a,b\n1,2\n", 1),
            ("code\n75107\n", 1),
            ("code,name\n75107,Paris\n1,2,3\n", 3),
            ("code,name\n,Paris\n", 2),
            ("code,name\n75107,\"two\nlines\"\n", 2),
        ] {
            assert_eq!(parse(text).unwrap_err().line, Some(line), "{text:?}");
        }
        assert!(PlaceNames::parse(Path::new("x.csv"), b"code,name\n1,\xff\n").is_err());
    }
}
