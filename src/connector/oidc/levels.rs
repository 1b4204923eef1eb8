//! The connector's table between the hub's levels and the identity provider's `acr` values (decisions 8).
//!
//! Owns: translation both ways, nothing rounded. Must not know: which level a platform accepts.

use std::collections::HashMap;

use crate::assurance::Level;
use crate::config::model::{ConnectorFile, Levels};
use crate::connector::{ConnectorFault, ConnectorRefused};
use crate::protocol::catalogue::ErrorCode;

pub struct AcrTable {
    levels: Levels,
    assumed: Option<Level>,
    sent: HashMap<Level, String>,
    accepted: HashMap<String, Level>,
}

impl AcrTable {
    /// # Errors
    /// The file's `levels`, `acr` and `assumed_level` do not fit together.
    pub fn new(file: &ConnectorFile) -> Result<Self, ConnectorRefused> {
        let levels = file.levels;
        if levels.lowest > levels.highest {
            return Err(ConnectorRefused::new("levels", "lowest is above highest; exchange them"));
        }
        if file.assumed_level.is_some_and(|level| level != Level::Eidas1) {
            return Err(ConnectorRefused::new("assumed_level", "only eidas1 may be assumed; remove it, or write eidas1"));
        }
        let (mut sent, mut accepted) = (HashMap::new(), HashMap::new());
        for (level, values) in &file.acr {
            for value in values {
                if value.is_empty() || value.contains(char::is_whitespace) {
                    return Err(ConnectorRefused::new(
                        "acr",
                        "a value is empty or holds a space; acr_values are separated by spaces",
                    ));
                }
                if accepted.insert(value.clone(), *level).is_some() {
                    return Err(ConnectorRefused::new("acr", format!("{value} stands twice; one value means one level")));
                }
                sent.entry(*level).or_insert_with(|| value.clone());
            }
        }
        let served = [Level::Eidas1, Level::Eidas2, Level::Eidas3]
            .into_iter()
            .filter(|level| (levels.lowest..=levels.highest).contains(level));
        for level in served {
            if !sent.contains_key(&level) && file.assumed_level != Some(level) {
                let mend = format!(
                    "{0} has no value; add {0} = [\"…\"] as this identity provider writes it, or narrow levels",
                    level.as_str()
                );
                return Err(ConnectorRefused::new("acr", mend));
            }
        }
        Ok(Self { levels, assumed: file.assumed_level, sent, accepted })
    }

    /// What to send as `acr_values`: the higher of what is asked and the connector's lowest. `None` for a level that
    /// is only assumed.
    pub fn sent(&self, asked: Level) -> Option<&str> {
        self.sent.get(&asked.max(self.levels.lowest)).map(String::as_str)
    }

    /// The level that a returned `acr` proves.
    ///
    /// # Errors
    /// It is missing, not in the table, outside the connector's levels, or below what was asked.
    pub fn obtained(&self, returned: Option<&str>, asked: Level) -> Result<Level, ConnectorFault> {
        let level = match returned {
            Some(value) => *self.accepted.get(value).ok_or_else(|| {
                ConnectorFault::new(ErrorCode::AcrUnlisted, "the returned acr is not in the connector's acr table")
            })?,
            None => self.assumed.ok_or_else(|| {
                ConnectorFault::new(ErrorCode::AcrMissing, "no acr was returned, and the file has no assumed_level")
            })?,
        };
        if level < asked {
            let detail = format!("asked {}, obtained {}", asked.as_str(), level.as_str());
            return Err(ConnectorFault::new(ErrorCode::AcrTooLow, detail));
        }
        if !(self.levels.lowest..=self.levels.highest).contains(&level) {
            let detail = format!("{} is outside the connector's levels", level.as_str());
            return Err(ConnectorFault::new(ErrorCode::AcrUnlisted, detail));
        }
        Ok(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = r#"
        name = { en = "X" }
        levels = { lowest = "eidas1", highest = "eidas2" }
        acr = { eidas1 = ["low", "weak"], eidas2 = ["substantial"], eidas3 = ["high"] }
        kind.persona = {}
    "#;

    fn table(toml: &str) -> Result<AcrTable, ConnectorRefused> {
        AcrTable::new(&toml::from_str(toml).unwrap())
    }

    #[test]
    fn a_returned_level_is_never_rounded() {
        let table = table(TOML).unwrap();
        assert_eq!(table.sent(Level::Eidas1), Some("low"));
        let cases = [
            (Some("low"), Level::Eidas1, Ok(Level::Eidas1)),
            (Some("weak"), Level::Eidas1, Ok(Level::Eidas1)),
            (Some("substantial"), Level::Eidas1, Ok(Level::Eidas2)),
            (Some("low"), Level::Eidas2, Err(ErrorCode::AcrTooLow)),
            (Some("high"), Level::Eidas2, Err(ErrorCode::AcrUnlisted)),
            (Some("eidas2"), Level::Eidas2, Err(ErrorCode::AcrUnlisted)),
            (Some("Substantial"), Level::Eidas2, Err(ErrorCode::AcrUnlisted)),
            (None, Level::Eidas1, Err(ErrorCode::AcrMissing)),
        ];
        for (returned, asked, expected) in cases {
            assert_eq!(table.obtained(returned, asked).map_err(|fault| fault.code), expected, "{returned:?} for {asked:?}");
        }
    }

    #[test]
    fn an_assumed_level_counts_as_eidas1_only() {
        let assuming = r#"
            name = { en = "X" }
            levels = { lowest = "eidas1", highest = "eidas1" }
            assumed_level = "eidas1"
            kind.persona = {}
        "#;
        let assumed = table(assuming).unwrap();
        assert_eq!(assumed.sent(Level::Eidas1), None);
        assert_eq!(assumed.obtained(None, Level::Eidas1).unwrap(), Level::Eidas1);
        assert_eq!(assumed.obtained(None, Level::Eidas2).unwrap_err().code, ErrorCode::AcrTooLow);
        assert_eq!(assumed.obtained(Some("anything"), Level::Eidas1).unwrap_err().code, ErrorCode::AcrUnlisted);
    }

    #[test]
    fn files_that_do_not_fit_together_are_refused_with_the_key() {
        let cases = [
            ("\"weak\"", "\"low\"", "acr"),
            ("\"weak\"", "\"low two\"", "acr"),
            ("eidas2 = [\"substantial\"]", "eidas2 = []", "acr"),
            ("lowest = \"eidas1\"", "lowest = \"eidas3\"", "levels"),
            ("kind.persona", "assumed_level = \"eidas2\"\n kind.persona", "assumed_level"),
        ];
        for (from, to, key) in cases {
            assert_eq!(table(&TOML.replace(from, to)).err().map(|refused| refused.key), Some(key), "{to}");
        }
    }
}
