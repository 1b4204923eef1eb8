//! One file as read: its values, the line of each key, and its faults of shape in our own words.
//!
//! figment merges and extracts; its messages and toml's print values, so none of them is passed on (only what kind of
//! fault, and where).

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use figment::error::Kind as Fault;
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use super::environment::Overlay;
use super::problem::Problem;
use super::regular;
use super::schema::{self, Kind, Node};
use crate::digest;

/// From this similarity on (Jaro-Winkler, 0 to 1), a word is taken for a misspelt one.
const ALIKE: f64 = 0.88;

/// Keys that have another name now.
const RENAMED: [(&str, &str); 1] = [("blocked_connectors", "deny in a table [connectors]")];

pub struct Source {
    file: PathBuf,
    values: Dict,
    /// `public.listen` → line, counted from 1.
    lines: BTreeMap<String, usize>,
    overlay: Overlay,
    /// SHA-256 of the text.
    hash: [u8; 32],
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Source").field(&self.file).finish()
    }
}

impl Source {
    /// Reads and parses a TOML file.
    pub fn read(file: &Path) -> Result<Self, Problem> {
        Self::of_bytes(
            file,
            regular::read(file).map_err(|(what, mend)| problem_of_file(file, what, mend))?,
        )
    }

    /// Reads and parses a file of a folder, which no link may lead out of.
    pub fn read_in(folder: &Path, file: &Path) -> Result<Self, Problem> {
        Self::of_bytes(file, bytes_in(folder, file)?)
    }

    /// Parses what was read of a file.
    pub fn of_bytes(file: &Path, bytes: Vec<u8>) -> Result<Self, Problem> {
        let not_text = |_| problem_of_file(file, "the file is not UTF-8 text", "save it as UTF-8");
        Self::parse(file, &String::from_utf8(bytes).map_err(not_text)?)
    }

    /// Parses TOML text; `file` is only a name for messages.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Problem> {
        let broken = |error: &toml::de::Error, mend: &str| Problem {
            line: error.span().map(|span| line_of(text, span.start)),
            ..problem_of_file(file, "is not valid TOML at this line", mend)
        };
        let spanned = DeTable::parse(text)
            // The parser's own words are fixed texts; they name what is expected, never what is there.
            .map_err(|error| broken(&error, &format!("mend the line: {}", error.message())))?;
        let table: toml::Table = toml::from_str(text)
            .map_err(|error| broken(&error, "write a number or date that TOML allows"))?;
        let mut lines = BTreeMap::new();
        index_table(text, "", spanned.get_ref(), &mut lines);
        let values = table.into_iter().map(|(key, value)| (key, figment_value(value))).collect();
        let hash = digest::sha256(text.as_bytes());
        Ok(Self { file: file.to_owned(), values, lines, overlay: Overlay::default(), hash })
    }

    /// The file as the operator reached it.
    pub fn file(&self) -> impl std::fmt::Display + '_ {
        self.file.display()
    }

    pub fn path(&self) -> &Path {
        &self.file
    }

    /// SHA-256 of the text.
    pub const fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// What stands in the file, by its keys of the first level.
    pub const fn values(&self) -> &Dict {
        &self.values
    }

    /// Files that `{ file = … }` tables and the like refer to, as they are written.
    pub fn files_referred_to(&self) -> Vec<PathBuf> {
        let mut names = Vec::new();
        collect(&self.values, &["file", "persons", "ca"], &mut names);
        names.into_iter().map(PathBuf::from).collect()
    }

    /// Lays environment variables over the file.
    #[must_use]
    pub fn under(self, overlay: Overlay) -> Self {
        Self { overlay, ..self }
    }

    /// Names of environment variables that `{ env = … }` tables refer to, here or through the overlay.
    pub fn variables_referred_to(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect(&self.values, &["env"], &mut names);
        collect(&self.overlay.values, &["env"], &mut names);
        names
    }

    /// Every text of the file and of the variables over it: any of them could be the path of a file.
    pub fn texts(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (_, value) in self.values.iter().chain(&self.overlay.values) {
            visit("", value, &mut |_, text| found.push(text.to_owned()));
        }
        found
    }

    /// Files of secrets: what `{ file = … }` tables refer to as it is written, each by its key. A `jwks` holds public keys.
    pub fn secret_files(&self) -> Vec<(String, PathBuf)> {
        let mut found = Vec::new();
        for (name, value) in
            self.values.iter().chain(&self.overlay.values).filter(|(name, _)| *name != "jwks")
        {
            visit(name, value, &mut |key, text| {
                if key.ends_with(".file") {
                    found.push((key.to_owned(), PathBuf::from(text)));
                }
            });
        }
        found
    }

    /// The text at a key of the file's first level, before anything is checked.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.overlay.values.get(key).or_else(|| self.values.get(key))?.as_str()
    }

    /// How many keys a table of the first level holds: an enum written as a table must have exactly one, and figment
    /// takes any of several.
    pub fn keys_of(&self, table: &str) -> usize {
        let of =
            |values: &Dict| values.get(table).and_then(Value::as_dict).cloned().unwrap_or_default();
        let (mut keys, over) = (of(&self.values), of(&self.overlay.values));
        keys.extend(over);
        keys.len()
    }

    /// A problem for each of these that is not a host.
    pub fn not_hosts(&self, key: &str, hosts: &[String]) -> Vec<Problem> {
        let mend = "write a host name or an address alone, without scheme, port or path";
        let wrong = hosts.iter().enumerate().filter(|(_, host)| url::Host::parse(host).is_err());
        wrong
            .map(|(index, _)| self.problem(&format!("{key}[{index}]"), "is not a host", mend))
            .collect()
    }

    /// A problem at `key` if the file that it names is missing. The path counts from the configuration folder.
    pub fn missing_file(&self, key: &str, folder: &Path, path: Option<&Path>) -> Option<Problem> {
        path.filter(|path| !folder.join(path).is_file()).map(|_| {
            let mend = "put the file there; the path counts from the configuration folder";
            self.problem(key, "names a file that is missing", mend)
        })
    }

    /// A problem at `key` (`redirect_uris[1]`), with its line, or with the variable that set the key.
    pub fn problem(&self, key: &str, what: impl Into<String>, mend: impl Into<String>) -> Problem {
        let (what, mend) = (what.into(), mend.into());
        let mut place = key;
        loop {
            if let Some(variable) = self.overlay.variables.get(place) {
                return Problem {
                    file: "environment".into(),
                    line: None,
                    key: variable.clone(),
                    what,
                    mend,
                };
            }
            if let Some(line) = self.lines.get(place) {
                let file = self.file.display().to_string();
                return Problem { file, line: Some(*line), key: key.into(), what, mend };
            }
            match place.rfind(['.', '[']) {
                Some(end) => place = place.get(..end).unwrap_or_default(),
                None => {
                    return Problem { key: key.into(), ..problem_of_file(&self.file, &what, &mend) };
                }
            }
        }
    }

    /// Extracts the file's shape. All faults that leave the rest readable are told, not only the first.
    pub fn shape<T: DeserializeOwned + JsonSchema>(
        &self,
        problems: &mut Vec<Problem>,
    ) -> Option<T> {
        // Only a fault needs it, and it takes longer to make than a file takes to read.
        let schema = LazyCell::new(schema::of::<T>);
        let (mut file, mut overlay) = (self.values.clone(), self.overlay.values.clone());
        let mut told: Vec<Vec<String>> = Vec::new();
        loop {
            let merged = Figment::new().merge(Values(&file)).merge(Values(&overlay));
            let error = match merged.extract::<T>() {
                Ok(shape) => return told.is_empty().then_some(shape),
                Err(error) => error,
            };
            let mut path = error.path.clone();
            if let Fault::MissingField(name) = &error.kind {
                path.push(name.to_string());
            }
            // What is now missed where a key was cut out below (the key itself, its table) has been told already.
            if told.iter().any(|cut| cut.starts_with(&path)) {
                return None;
            }
            problems.push(self.fault(Node::root(&schema), &path, &error.kind));
            let missing = matches!(error.kind, Fault::MissingField(_));
            told.push(path.clone());
            let cut_out = remove(&mut overlay, &path) || remove(&mut file, &path);
            if missing || !cut_out || told.len() > 50 {
                return None;
            }
        }
    }

    fn fault(&self, schema: Node<'_>, path: &[String], fault: &Fault) -> Problem {
        let key = key_path(path);
        let node = schema.at(path.iter().map(String::as_str));
        let hint = node.map_or_else(|| "see docs/configuration.md".into(), Node::hint);
        let kind = node.map_or("another kind of value", |node| node.kind().in_words());
        match fault {
            Fault::UnknownField(written, known) => {
                let mend = match (
                    RENAMED.iter().find(|(former, _)| *former == key),
                    near_miss(written, known),
                ) {
                    (Some((_, now)), _) => format!("write it as {now}"),
                    (None, Some(meant)) => {
                        format!(
                            "did you mean `{meant}`? If not, remove it, or use one of: {}",
                            known.join(", ")
                        )
                    }
                    (None, None) => format!("remove it, or use one of: {}", known.join(", ")),
                };
                self.problem(&key, "is not a key that this file knows", mend)
            }
            Fault::UnknownVariant(_, known) => self.problem(
                &key,
                "is not one of the allowed words",
                format!("write one of: {}", known.join(", ")),
            ),
            Fault::MissingField(_) => self.problem(&key, "is missing", format!("add it: {hint}")),
            Fault::InvalidType(..) => self.problem(&key, format!("must be {kind}"), hint),
            Fault::InvalidValue(..) if node.is_some_and(|node| node.kind() == Kind::Integer) => {
                self.problem(&key, "must be a whole number, 0 or more", hint)
            }
            Fault::ISizeOutOfRange(_) | Fault::USizeOutOfRange(_) => {
                self.problem(&key, "is out of range", hint)
            }
            // Everything else may carry the value in its text (`Message` most of all).
            Fault::Message(_)
            | Fault::InvalidValue(..)
            | Fault::InvalidLength(..)
            | Fault::DuplicateField(_)
            | Fault::Unsupported(_)
            | Fault::UnsupportedKey(..) => {
                self.problem(&key, "has not the form that is needed here", hint)
            }
        }
    }
}

/// The known word that was probably meant; only it is repeated, never what was written.
pub fn near_miss<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    let written = written.to_ascii_lowercase();
    let likeness = |word: &&str| strsim::jaro_winkler(&written, word);
    let nearest = known.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&nearest) >= ALIKE).then_some(nearest)
}

/// What is in a file of a folder, which no link may lead out of.
pub fn bytes_in(folder: &Path, file: &Path) -> Result<Vec<u8>, Problem> {
    let read = regular::stays_inside(file, folder).and_then(|()| regular::read(file));
    read.map_err(|(what, mend)| problem_of_file(file, what, mend))
}

pub fn problem_of_file(file: &Path, what: &str, mend: &str) -> Problem {
    Problem {
        file: file.display().to_string(),
        line: None,
        key: String::new(),
        what: what.into(),
        mend: mend.into(),
    }
}

/// figment's own TOML provider would bring a second toml crate, and is silent when a file is missing.
struct Values<'a>(&'a Dict);

impl Provider for Values<'_> {
    fn metadata(&self) -> Metadata {
        Metadata::named("configuration")
    }

    fn data(&self) -> figment::error::Result<Map<Profile, Dict>> {
        Ok(Profile::Default.collect(self.0.clone()))
    }
}

fn figment_value(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(truth) => Value::from(truth),
        toml::Value::Datetime(moment) => Value::from(moment.to_string()),
        toml::Value::Array(items) => {
            Value::from(items.into_iter().map(figment_value).collect::<Vec<_>>())
        }
        toml::Value::Table(table) => Value::from(
            table.into_iter().map(|(key, value)| (key, figment_value(value))).collect::<Dict>(),
        ),
    }
}

fn index_table(text: &str, prefix: &str, table: &DeTable<'_>, lines: &mut BTreeMap<String, usize>) {
    for (key, value) in table {
        let name = key.get_ref();
        let path = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
        lines.insert(path.clone(), line_of(text, key.span().start));
        index_value(text, &path, value.get_ref(), lines);
    }
}

fn index_value(text: &str, path: &str, value: &DeValue<'_>, lines: &mut BTreeMap<String, usize>) {
    if let Some(table) = value.as_table() {
        index_table(text, path, table, lines);
    }
    for (index, item) in value.as_array().into_iter().flat_map(|items| items.iter()).enumerate() {
        let path = format!("{path}[{index}]");
        lines.insert(path.clone(), line_of(text, item.span().start));
        index_value(text, &path, item.get_ref(), lines);
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// `["secrets", "0", "env"]` → `secrets[0].env`.
fn key_path(path: &[String]) -> String {
    let mut key = String::new();
    for part in path {
        if part.parse::<usize>().is_ok() {
            key += &format!("[{part}]");
        } else {
            if !key.is_empty() {
                key.push('.');
            }
            key += part;
        }
    }
    key
}

fn remove(values: &mut Dict, path: &[String]) -> bool {
    match path {
        [] => false,
        [last] => values.remove(last).is_some(),
        [first, rest @ ..] => values.get_mut(first).is_some_and(|value| remove_inside(value, rest)),
    }
}

fn remove_inside(value: &mut Value, path: &[String]) -> bool {
    match (value, path) {
        (Value::Dict(_, table), _) => remove(table, path),
        // An item is emptied with its list's rest left in place, so that indices in later messages stay true.
        (Value::Array(_, items), [index, rest @ ..]) if !rest.is_empty() => {
            let item = index.parse::<usize>().ok().and_then(|index| items.get_mut(index));
            item.is_some_and(|item| remove_inside(item, rest))
        }
        _ => false,
    }
}

/// The texts at these keys, at any depth.
fn collect(values: &Dict, keys: &[&str], names: &mut Vec<String>) {
    for (key, value) in values {
        collect_inside(key, value, keys, names);
    }
}

/// Hands over each text below a value, with its key.
fn visit(key: &str, value: &Value, each: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(_, text) => each(key, text),
        Value::Dict(_, table) => {
            table.iter().for_each(|(name, value)| visit(&format!("{key}.{name}"), value, each))
        }
        Value::Array(_, items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| visit(&format!("{key}[{index}]"), item, each));
        }
        _ => {}
    }
}

fn collect_inside(key: &str, value: &Value, keys: &[&str], names: &mut Vec<String>) {
    match value {
        Value::String(_, name) if keys.contains(&key) => names.push(name.clone()),
        Value::Dict(_, table) => collect(table, keys, names),
        Value::Array(_, items) => {
            items.iter().for_each(|item| collect_inside("", item, keys, names))
        }
        _ => {}
    }
}
