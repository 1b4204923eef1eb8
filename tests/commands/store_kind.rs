//! Kinds of stores and registers that this file adds to the program by its public interface alone.

use std::fs;
use std::sync::{Arc, OnceLock};

use actix_web::{App, test as web_test};
use async_trait::async_trait;
use passerelle_config::LoadedConfig;
use passerelle_config::kinds::Kinds;
use passerelle_federation::identity::{DeclaredValues, Identity, StandardClaims};
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::SupportId;
use passerelle_register::kind::{
    OpenRegisterError, RegisterContext, RegisterSettings, register_settings,
};
use passerelle_register::{Register, RegisterAnswer, RegisterError};
use passerelle_server::{HubServer, ProgramDeps};
use passerelle_settings::{ConfiguredTable, Diagnostic, KindTable, TableKind};
use passerelle_store::kind::{
    OpenStoreError, OpenedStore, StoreContext, StoreSettings, store_settings,
};
use passerelle_store::memory::MemoryStore;
use passerelle_store::{RecordKind, Store};
use passerelle_web::routes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::folder::{SETTINGS, VARIABLE, valid_config_folder};

/// `[store.small]`: the memory of this process for a few logins.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SmallStore {
    /// Maximum number of logins.
    #[schemars(range(min = 1, max = 10))]
    logins: u64,
}

static OPENED: OnceLock<Arc<MemoryStore>> = OnceLock::new();

impl StoreSettings for SmallStore {
    fn open(&self, context: &StoreContext) -> Result<OpenedStore, OpenStoreError> {
        let logins = usize::try_from(self.logins).map_err(|e| OpenStoreError(e.to_string()))?;
        let store =
            MemoryStore::new(context.capacities.clone().with_records(RecordKind::LOGIN, logins));
        Ok(OpenedStore::new(Arc::clone(OPENED.get_or_init(|| Arc::new(store))) as Arc<_>))
    }
}

const SMALL: TableKind = TableKind {
    name: "small",
    summary: "A store for a few logins.",
    schema: |generator| generator.subschema_for::<SmallStore>(),
    load: load_small,
};

fn load_small(table: &mut KindTable<'_>) -> Option<ConfiguredTable> {
    let settings: SmallStore = table.deserialize()?;
    Some(store_settings(table, &settings.clone(), settings))
}

/// `[register.empty]`: every person has died.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EmptyRegister {}

#[async_trait]
impl Register for EmptyRegister {
    async fn identify(&self, _: &Identity, _: &SupportId) -> Result<RegisterAnswer, RegisterError> {
        Ok(RegisterAnswer::Deceased)
    }
}

impl RegisterSettings for EmptyRegister {
    fn open(&self, _: RegisterContext) -> Result<Arc<dyn Register>, OpenRegisterError> {
        Ok(Arc::new(self.clone()))
    }
}

const EMPTY: TableKind = TableKind {
    name: "empty",
    summary: "A register without living persons.",
    schema: |generator| generator.subschema_for::<EmptyRegister>(),
    load: |table| {
        let settings: EmptyRegister = table.deserialize()?;
        Some(register_settings(table, &settings.clone(), settings))
    },
};

const KINDS: Kinds = Kinds { stores: &[SMALL], registers: &[EMPTY], ..passerelle_server::KINDS };

fn load(store: &str, kinds: Kinds) -> Result<LoadedConfig, Vec<Diagnostic>> {
    let folder = valid_config_folder();
    let settings = SETTINGS.replace("register.file.path = \"register.csv\"\n", "");
    let text = format!("{settings}[register.empty]\n{store}\n");
    fs::write(folder.path().join("passerelle.toml"), text).unwrap();
    fs::write(folder.path().join("service-providers/sp.toml"), SERVICE).unwrap();
    passerelle_config::load_config(folder.path(), &[VARIABLE, SECRET].into_iter().collect(), kinds)
        .inspect(|_| std::mem::forget(folder))
}

const SECRET: (&str, &str) = ("SERVICE_PROVIDER_SP__SECRET", "0123456789abcdef0123456789abcdef");
const SERVICE: &str = r#"
client_id = "sp"
name = { en = "Service" }
home_page = "https://sp.example.org/"
redirect_uris = ["https://sp.example.org/callback"]
scopes = ["openid", "email"]
secrets = [{ env = "SERVICE_PROVIDER_SP__SECRET" }]
"#;
const AUTHORIZE: &str = "/api/v2/authorize?client_id=sp&response_type=code&scope=openid&acr_values=eidas1\
    &redirect_uri=https%3A%2F%2Fsp.example.org%2Fcallback&state=0123456789012345678901234567890123\
    &nonce=0123456789012345678901234567890123";

#[actix_web::test]
async fn a_login_begins_in_a_store_of_a_foreign_kind() {
    let loaded = load("[store.small]\nlogins = 2", KINDS).unwrap();
    let hub = HubServer::build(&loaded, ProgramDeps::system()).unwrap().hub();
    let app = web_test::init_service(
        App::new().configure(|config| routes::configure_routes(config, hub)),
    )
    .await;
    for began in [1, 2, 2] {
        let request = web_test::TestRequest::get().uri(AUTHORIZE).to_request();
        let answer = web_test::call_service(&app, request).await;
        assert_eq!(OPENED.get().unwrap().count(RecordKind::LOGIN), began, "{}", answer.status());
    }
}

#[actix_web::test]
async fn a_register_of_a_foreign_kind_answers() {
    let loaded = load("[store.small]\nlogins = 2", KINDS).unwrap();
    let pivot = Identity {
        given_names: vec!["Ada".to_owned()],
        family_name: None,
        birthdate: None,
        gender: None,
        birthplace: None,
        birthcountry: None,
        email: None,
        preferred_username: None,
        standard: StandardClaims::new(),
        declared: DeclaredValues::new(),
    };
    let answer = passerelle_server::query_register(&loaded, &Env::system(), &pivot).await.unwrap();
    assert_eq!(answer, Ok(RegisterAnswer::Deceased));
}

#[test]
fn the_tables_of_foreign_kinds_are_checked_at_their_lines() {
    let problems = |store: &str, kinds| {
        let found = load(store, kinds).map(drop).unwrap_err();
        found.iter().map(ToString::to_string).collect::<Vec<_>>().concat()
    };
    let text = problems("[store.small]\nlogins = 11", KINDS);
    assert!(text.contains("store.small.logins: is out of range"), "{text}");
    let text = problems("[store.small]\nlogin = 1", KINDS);
    assert!(text.contains("did you mean `logins`?"), "{text}");
    let text = problems("[store.small]\nlogins = 1", passerelle_server::KINDS);
    assert!(text.contains("store.small: is not one of the allowed words"), "{text}");
    let schemas = passerelle_config::schemas(KINDS);
    assert!(schemas.iter().any(|(_, schema)| schema.to_string().contains("SmallStore")));
}
