//! Connectors for tests, from the text of their files.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::code_store::{InMemoryWalletRequests, code_store};
use crate::app::KINDS;
use crate::config::check_context::CheckContext;
use crate::connector::{ConfiguredConnector, ConnectorContext, SandboxMode};
use crate::egress::http_client_pool::HttpClientPool;
use crate::env::Env;
use crate::ids::Secret;
use crate::settings::Environment;
use crate::token::UpstreamKeys;

/// A connector of the kind with the fewest keys, for tests that don't call it.
pub fn any_connector(id: &str, name: &str) -> ConfiguredConnector {
    let text = format!(
        "name = {{ en = \"{name}\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas1\" }}\n[kind.persona]\n"
    );
    configured(id, &text, None)
}

/// The connector of a file with this text, valid or not; its secret is replaced.
pub fn configured(id: &str, text: &str, secret: Option<&str>) -> ConfiguredConnector {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("{id}.toml"));
    std::fs::write(&file, text).unwrap();
    let environment: Environment = [("", ""); 0].into_iter().collect();
    let draft =
        CheckContext::without_hub(folder.path(), KINDS).check_connector(&file, &environment);
    let connector = draft.connector.unwrap_or_else(|| panic!("{:#?}", draft.problems));
    ConfiguredConnector {
        client_secret: secret.map(|secret| Secret::new(secret.to_owned())),
        ..connector
    }
}

/// A context without keys and sandboxes.
pub fn context(env: Env) -> ConnectorContext {
    ConnectorContext {
        env,
        upstream_keys: Arc::new(ArcSwap::from_pointee(UpstreamKeys::empty())),
        sandbox: SandboxMode::Off,
        http_clients: HttpClientPool::default(),
        metrics: None,
        code_store: code_store(),
        wallet_requests: Arc::new(InMemoryWalletRequests::default()),
    }
}
