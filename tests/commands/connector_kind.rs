//! A connector kind of another crate: its file is loaded, checked and diagnosed, and logs a user
//! in, through the public interface alone.

use std::fs;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use passerelle_config::LoadedConfig;
use passerelle_config::check_context::CheckContext;
use passerelle_config::kinds::Kinds;
use passerelle_connector::diagnostic::{DiagnosticStatus, HubEndpoints, RegistrationParameter};
use passerelle_connector::kind_settings::{ConnectorKindFormat, KindCheck, KindSettings};
use passerelle_connector::{
    self, ConfiguredConnector, Connector, ConnectorContext, ConnectorError, ConnectorKind,
    SandboxMode,
};
use passerelle_egress::http_client_pool::HttpClientPool;
use passerelle_federation::assurance::acr::AcrPolicy;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_jose::RelyingPartyKeys;
use passerelle_protocol::acr::Level;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_server::check::CheckInputs;
use passerelle_server::check::connector::check_connector;
use passerelle_server::{HubServer, ProgramDeps};
use passerelle_settings::{Diagnostic, FieldDiagnostic, SecretRef};
use schemars::JsonSchema;
use serde::Deserialize;
use tempfile::TempDir;

use crate::folder::{VARIABLE, valid_config_folder, write_private};

/// A kiosk: the user is the room that it stands in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct KioskKind {
    /// Room of the kiosk.
    room: String,
    /// Code of the door.
    door_code: SecretRef,
}

impl KindSettings for KioskKind {
    fn check(&self, check: &mut KindCheck<'_>) -> Option<Secret<String>> {
        check.check_levels_without_acr();
        check.require_text("room", &self.room, "write the number on the door");
        check.secret("door_code", &self.door_code)
    }

    fn reauthenticates(&self) -> bool {
        true
    }
}

impl ConnectorKind for KioskKind {
    fn build(
        &self,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Arc<dyn Connector>, FieldDiagnostic> {
        if configured.client_secret.is_none() {
            return Err(FieldDiagnostic::new("kind.kiosk.door_code", "is missing", "add it"));
        }
        Ok(Arc::new(KioskConnector {
            id: configured.id.clone(),
            env: context.env,
            acr_policy: self.acr_policy(&configured.file),
            room: self.room.clone(),
        }))
    }

    fn registration(&self, hub: &HubEndpoints) -> Vec<RegistrationParameter> {
        vec![RegistrationParameter { name: "redirect_uris", value: hub.redirect_uri.clone() }]
    }
}

struct KioskConnector {
    id: ConnectorId,
    env: Env,
    acr_policy: AcrPolicy,
    room: String,
}

#[async_trait]
impl Connector for KioskConnector {
    async fn begin_login(
        &self,
        request: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        let issuer = format!("urn:kiosk:{}", self.id);
        let mut url = url::Url::parse(&request.redirect_uri)
            .map_err(|_| ConnectorError::new(ErrorCode::Internal, "no URL"))?;
        url.query_pairs_mut().append_pair("code", "kiosk").append_pair("state", &request.state);
        Ok(AuthorizationRedirect {
            url: url.into(),
            token_endpoint: issuer.clone(),
            issuer,
            client_id: "kiosk".into(),
            iss_expected: false,
            dpop_key: None,
        })
    }

    async fn complete_login(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        if callback.code.is_none() {
            return Err(ConnectorError::new(ErrorCode::IdpCallbackMalformed, "no code"));
        }
        let level =
            self.acr_policy.evaluate(None, self.acr_policy.level_to_request(attempt.request.level));
        let level = level.map_err(|error| ConnectorError::new(error.code(), error.to_string()))?;
        let subject = Secret::new(self.room.clone());
        Ok(Authentication {
            auth_time: Some(self.env.now()),
            ..Authentication::new(self.id.clone(), subject, level)
        })
    }

    async fn preload(&self) -> Result<(), ConnectorError> {
        Ok(())
    }
}

const KIOSK: ConnectorKindFormat =
    passerelle_connector::connector_kind::<KioskKind>("kiosk", "A kiosk.");

/// The program's kinds, and the kiosk.
fn kinds() -> Kinds {
    let connectors = [passerelle_server::KINDS.connectors, &[KIOSK]].concat();
    Kinds { connectors: Box::leak(connectors.into_boxed_slice()), ..passerelle_server::KINDS }
}

const LOBBY: &str = r#"
name = { en = "Lobby" }
identity = "verified"
levels = { lowest = "eidas1", highest = "eidas1" }
assumed_level = "eidas1"
[kind.kiosk]
room = "101"
door_code = { file = "secrets/connectors/lobby/code" }
"#;

/// A folder with a kiosk among its connectors.
fn folder_with(lobby: &str) -> TempDir {
    let folder = valid_config_folder();
    fs::write(folder.path().join("connectors/lobby.toml"), lobby).unwrap();
    write_private(&folder.path().join("secrets/connectors/lobby/code"), "4711");
    folder
}

fn load(folder: &TempDir) -> Result<LoadedConfig, Vec<Diagnostic>> {
    passerelle_config::load_config(folder.path(), &[VARIABLE].into_iter().collect(), kinds())
}

fn build(configured: &ConfiguredConnector) -> Arc<dyn Connector> {
    let context = ConnectorContext {
        env: Env::system(),
        upstream_keys: Arc::new(ArcSwap::from_pointee(RelyingPartyKeys::empty())),
        sandbox: SandboxMode::Off,
        http_clients: HttpClientPool::default(),
        metrics: None,
        store: passerelle_store::LateStore::default(),
    };
    passerelle_connector::build(configured, context)
        .unwrap_or_else(|fault| panic!("{}", fault.message))
}

#[actix_web::test]
async fn a_hub_with_a_kind_of_another_crate_starts_and_logs_a_user_in() {
    let folder = folder_with(LOBBY);
    let loaded = load(&folder).unwrap();
    let configured = &loaded.connectors[&ConnectorId::from("lobby")];
    assert_eq!(configured.client_secret.as_ref().unwrap().reveal(), "4711");
    HubServer::build(&loaded, ProgramDeps::system()).unwrap();

    let connector = build(configured);
    let request = UpstreamAuthorizationRequest {
        state: "s".into(),
        nonce: "n".into(),
        verifier: Secret::new("v".repeat(43)),
        redirect_uri: "https://hub.example/api/v2/callback/lobby".into(),
        level: Level::Eidas1,
        reauthenticate: false,
        max_age: None,
        auth_time_required: false,
        level_names: Vec::new(),
        login_hint: None,
        forwarded: std::collections::BTreeMap::new(),
        requester: None,
        ui_locales: None,
    };
    let redirect = connector.begin_login(request.clone()).await.unwrap();
    assert_eq!(redirect.url, "https://hub.example/api/v2/callback/lobby?code=kiosk&state=s");
    let attempt = LoginAttempt {
        connector: "lobby".into(),
        request,
        redirected_at: Env::system().now(),
        redirect,
    };
    let code = Some(Secret::new("kiosk".into()));
    let callback = CallbackParams { code, ..CallbackParams::default() };
    let authentication = connector.complete_login(attempt, callback).await.unwrap();
    assert_eq!(authentication.upstream_subject.reveal(), "101");
    assert_eq!(authentication.level, Level::Eidas1);
}

#[test]
fn bad_files_of_the_kind_are_reported_like_those_of_any_kind() {
    for (from, to, line, problem) in [
        ("room = \"101\"", "room = \" \"", 7, "kind.kiosk.room is empty; write the number on"),
        ("room = \"101\"", "rom = \"101\"", 7, "kind.kiosk.rom is not a known key"),
        ("room = \"101\"", "rom = \"101\"", 7, "did you mean `room`?"),
        ("room = \"101\"", "room = 101", 7, "kind.kiosk.room must be text; write room = "),
        ("connectors/lobby/code", "connectors/other/code", 8, "kind.kiosk.door_code.file"),
        ("assumed_level = \"eidas1\"", "", 6, "assumed_level is missing, but this kind"),
        ("[kind.kiosk]", "[kind.kioskk]", 6, "kind.kioskk is not one of the allowed words"),
    ] {
        let problems = load(&folder_with(&LOBBY.replace(from, to))).unwrap_err();
        let lines: Vec<_> = problems.iter().map(Diagnostic::to_single_line).collect();
        assert!(lines.iter().any(|text| text.contains(problem)), "{problem}: {lines:#?}");
        let named = problems.iter().any(|problem| problem.line == Some(line));
        assert!(named || problem.starts_with("assumed_level"), "{line}: {lines:#?}");
    }
    let folder = folder_with(LOBBY);
    let built_in = passerelle_config::load_config(
        folder.path(),
        &[VARIABLE].into_iter().collect(),
        passerelle_server::KINDS,
    );
    let problems = built_in.unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert!(problems.iter().all(|problem| !problem.fix.contains("kiosk")), "{problems:#?}");
}

#[test]
fn the_schema_and_the_reference_page_describe_the_kind() {
    let schemas = passerelle_config::schemas(kinds());
    let (_, schema) = schemas.iter().find(|(name, _)| *name == "connector.schema.json").unwrap();
    let text = schema.to_string();
    assert!(text.contains("`[kind.kiosk]`") && text.contains("#/$defs/KioskKind"), "{text}");
    assert!(
        passerelle_config::reference_markdown(kinds())
            .contains("| `kind.kiosk.room` | text | required |")
    );
}

#[actix_web::test]
async fn a_check_of_the_file_diagnoses_its_identity_provider() {
    let folder = folder_with(LOBBY);
    let environment = [VARIABLE].into_iter().collect();
    let context = CheckContext::from_folder(folder.path(), &environment, kinds()).unwrap();
    let file = folder.path().join("connectors/lobby.toml");
    let env = Env::system();
    let check =
        CheckInputs { context: &context, environment: &environment, env: &env, is_online: true };
    let report = check_connector(&file, check, None).await;
    assert_eq!(report.status, DiagnosticStatus::Ok, "{report}");
    assert!(report.diagnostics.iter().any(|check| check.name == "reachable"), "{report}");
    let redirect_uri = "http://localhost:8080/api/v2/callback/lobby";
    assert!(report.registration.iter().any(|entry| entry.value == redirect_uri), "{report}");
}
