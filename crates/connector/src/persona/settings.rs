//! Defines the `[kind.persona]` table of a connector, and its rules.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::AcrTable;
use crate::kind_settings::{KindCheck, KindSettings};
use passerelle_protocol::ids::Secret;
use passerelle_settings::FilePath;

/// A sandbox, where anyone picks a persona, a level, methods, or a failure.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "persons": "persons.toml"
}]))]
pub struct PersonaKind {
    /// TOML file of `[[person]]` tables. Default: the built-in personas.
    #[serde(default)]
    pub persons: Option<FilePath>,
}

impl KindSettings for PersonaKind {
    fn check(&self, check: &mut KindCheck<'_>) -> Option<Secret<String>> {
        let file = check.file();
        // The page offers the hub's own levels, so these keys would have no effect.
        let unused = [
            ("acr", file.acr != AcrTable::default()),
            ("assumed_level", file.assumed_level.is_some()),
            ("ignore_acr", file.ignore_acr),
        ];
        for (key, _) in unused.into_iter().filter(|(_, given)| *given) {
            let message = "has no effect on a sandbox, which returns any level within levels";
            check.report_in_file(key, message, "remove it");
        }
        None
    }

    fn file_paths_mut(&mut self) -> Vec<(&'static str, &mut PathBuf)> {
        self.persons.iter_mut().map(|path| ("persons", path.as_mut())).collect()
    }

    fn reauthenticates(&self) -> bool {
        true
    }

    fn is_sandbox(&self) -> bool {
        true
    }
}
