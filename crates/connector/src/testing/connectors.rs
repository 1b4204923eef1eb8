//! Connectors for tests, from the text of their files.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::kind_settings::{ConnectorKindFormat, KindCheck, SupportedKinds, connector_schema};
use crate::mapping::check_mapping;
use crate::{ConfiguredConnector, ConnectorContext, SandboxMode, oauth2, oidc, persona};
use passerelle_egress::http_client_pool::HttpClientPool;
use passerelle_federation::identity::declared::DeclaredClaims;
use passerelle_jose::RelyingPartyKeys;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_settings::{
    Environment, FileCheck, SecretContext, SecretOwner, SecretOwnerKind, SecretRules, SourceFile,
};
use passerelle_store::memory::MemoryStore;
use passerelle_store::testing::store_conformance::ample_capacities;
use passerelle_store::{Capacities, LateStore, Store};

/// A connector of the kind with the fewest keys, for tests that don't call it.
pub fn any_connector(id: &str, name: &str) -> ConfiguredConnector {
    let text = format!(
        "name = {{ en = \"{name}\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas1\" }}\n[kind.persona]\n"
    );
    configured(id, &text, None)
}

/// The connector of a file of this crate's kinds with this text, valid or not; its secret is
/// replaced.
pub fn configured(id: &str, text: &str, secret: Option<&str>) -> ConfiguredConnector {
    configured_of(&[oidc::KIND, oauth2::KIND, persona::KIND], id, text, secret)
}

/// The same for a file of one of these kinds.
pub fn configured_of(
    formats: &'static [ConnectorKindFormat],
    id: &str,
    text: &str,
    secret: Option<&str>,
) -> ConfiguredConnector {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{id}.toml"));
    std::fs::write(&path, text).unwrap();
    let source = SourceFile::read(&path).unwrap();
    let environment: Environment = [("", ""); 0].into_iter().collect();
    let context = SecretContext {
        folder: folder.path(),
        environment: &environment,
        secrets: &SecretRules::default(),
        owner: SecretOwner::Settings,
    };
    let context = context.for_file(SecretOwnerKind::Connector, &path);
    let kinds = SupportedKinds { formats, sandbox: SandboxMode::On };
    let mut problems = Vec::new();
    let mut check = FileCheck::new(&source, &mut problems);
    let file = source.deserialize_at(&[], || connector_schema(kinds.formats), check.problems);
    let kind = kinds.parse(&mut check, folder.path());
    let Some((file, kind)) = file.zip(kind) else { panic!("{:#?}", check.problems) };
    let mapping =
        check_mapping(&mut check, &file, kind.protocol_claims(), &DeclaredClaims::default());
    let mut check = KindCheck::new(check, kind.name, &file, &context);
    kinds.check(&kind, &mut check);
    let client_identity = check.client_identity;
    ConfiguredConnector {
        id: ConnectorId::from(id),
        client_secret: secret.map(|secret| Secret::new(secret.to_owned())),
        client_identity,
        file,
        kind,
        logo: None,
        blocks: Vec::new(),
        mapping,
    }
}

/// A context without keys and sandboxes.
pub fn context(env: Env) -> ConnectorContext {
    ConnectorContext {
        env,
        upstream_keys: Arc::new(ArcSwap::from_pointee(RelyingPartyKeys::empty())),
        sandbox: SandboxMode::Off,
        http_clients: HttpClientPool::default(),
        metrics: None,
        store: store_with(ample_capacities()),
    }
}

/// Returns a store in memory with these capacities.
pub fn store_with(capacities: Capacities) -> LateStore {
    LateStore::from(Arc::new(MemoryStore::new(capacities)) as Arc<dyn Store>)
}
