//! Finds the connectors with well-formed files that can't be built. The hub starts without them.

use super::prepare::connector_context;
use super::reload::check_build;
use passerelle_config::LoadedConfig;
use passerelle_protocol::env::Env;
use passerelle_settings::Diagnostic;

/// Leaves out the connectors that can't be built.
pub(super) fn deactivate_unbuildable(loaded: &mut LoadedConfig, env: &Env) {
    let context = connector_context(loaded, env, None, None);
    loaded.files.deactivate_unbuildable(&|configured| check_build(configured, &context));
    let active = loaded.files.connectors();
    loaded.connectors.retain(|id, _| active.contains_key(id));
}

/// Returns a problem for each connector that can't be built.
pub fn find_unbuildable_connectors(loaded: &LoadedConfig, env: &Env) -> Vec<Diagnostic> {
    let (known, mut loaded) = (loaded.files.diagnostics(), loaded.clone());
    deactivate_unbuildable(&mut loaded, env);
    let mut found = loaded.files.diagnostics();
    found.retain(|problem| !known.contains(problem));
    found
}
