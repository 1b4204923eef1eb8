//! Defines and checks `[register.file]`, and registers the kind `file`.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::watched::WatchedRegister;
use crate::Register;
use crate::kind::{OpenRegisterError, RegisterContext, RegisterSettings, register_settings};
use passerelle_settings::{ConfiguredTable, FilePath, KindTable, TableKind};

/// A register in a CSV file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "path": "register.csv"
}]))]
pub(super) struct FileRegisterConfig {
    /// CSV with a header line: given_names, family_name, birthdate, gender, birthplace,
    /// birthcountry, status. A `status` is `active` (or empty), `deceased` or `refused`; persons
    /// with the last two are rejected (Y010003, Y010004).
    pub path: FilePath,
}

/// The kind `file`.
pub const KIND: TableKind = TableKind {
    name: "file",
    summary: "A CSV file.",
    schema: |generator| generator.subschema_for::<FileRegisterConfig>(),
    load,
};

fn load(table: &mut KindTable<'_>) -> Option<ConfiguredTable> {
    let mut config: FileRegisterConfig = table.deserialize()?;
    table.check_file("path", &config.path);
    config.path = table.resolve_path(&config.path).into();
    let shown = config.clone();
    Some(register_settings(table, &shown, config))
}

impl RegisterSettings for FileRegisterConfig {
    fn open(&self, context: RegisterContext) -> Result<Arc<dyn Register>, OpenRegisterError> {
        let register = WatchedRegister::load(&self.path, context.home_country);
        Ok(Arc::new(register.map_err(|error| OpenRegisterError(error.to_string()))?))
    }

    fn import_target(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn file_without_persons(&self) -> Option<&Path> {
        let mut csv = csv::Reader::from_path(&self.path).ok()?;
        csv.records().next().is_none().then_some(&*self.path)
    }
}
