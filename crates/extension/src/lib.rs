//! What an optional crate adds to the hub, as one value: [`Extension`].
//!
//! A program lists its extensions once (`crates/server/src/kinds.rs`). Responsible for what an
//! extension can consist of. Does not know any of them. Begin with [`Extension`].

mod command;
#[cfg(feature = "testing")]
pub mod testing;

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use self::command::{AdminRequest, ExtensionCommand};
use passerelle_admin::AdminEndpoint;
use passerelle_admin::console::ExtensionTableSource;
use passerelle_admin::console_act::ConsoleAct;
use passerelle_audit::EventKind;
use passerelle_federation::ServiceProvider;
use passerelle_grants::HubCore;
use passerelle_grants::client_keys::KeyDirectory;
use passerelle_hub::mail_codes::MailCodes;
use passerelle_localization::{Languages, MessageTexts};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::Scope;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_quota::KeyedRateLimiter;
use passerelle_settings::{ConfiguredTable, Diagnostic, FileCheck, TableKind};
use passerelle_store::{RecordKind, Store, Usage};
use passerelle_telemetry::{CheckFinding, ExtensionMetric};
use passerelle_web::endpoint::EndpointList;
use passerelle_web::theme::{FooterLink, Theme};

/// What an optional crate adds to the hub. A program without the crate has none of it.
#[derive(Clone, Copy, derive_more::Debug)]
#[debug("Extension({name:?})")]
pub struct Extension {
    /// Cargo feature of the program.
    pub name: &'static str,
    /// Rows of the error catalogue.
    pub error_codes: &'static [ErrorCode],
    /// Messages of its pages and errors, in every built-in language.
    pub messages: MessageTexts,
    pub metrics: &'static [&'static ExtensionMetric],
    /// Kinds of records, with the capacity of each.
    pub record_kinds: &'static [(&'static RecordKind, RecordCapacity)],
    /// Its table of `passerelle.toml`.
    pub table: Option<SettingsTable>,
    /// Whether it sends one-time codes by mail if the file has its table. A rule that needs codes is
    /// refused without such a table.
    pub sends_mail_codes: bool,
    /// Events of the audit log.
    pub audit_events: &'static [EventKind],
    /// Routes of the public listener.
    pub endpoints: EndpointList,
    /// Links to its pages at the foot of every page, by its table.
    pub footer_links: fn(&ConfiguredTable) -> Vec<FooterLink>,
    /// What it keeps of persons beside logins, sessions and the audit log, by its table.
    pub kept_data: fn(&ConfiguredTable) -> Option<KeptData>,
    /// Where clients register themselves, by its table; `None` if they can't.
    pub registration_endpoint: fn(&ConfiguredTable, Platform) -> Option<RegistrationEndpoint>,
    /// Routes of the private listener, below `/admin`.
    pub admin_endpoints: &'static [AdminEndpoint],
    /// Forms of the admin console.
    pub console_acts: &'static [ConsoleAct],
    /// Command of the program.
    pub command: Option<ExtensionCommand>,
    /// Calls the servers of its table, for `passerelle check --online`; `None` if it names none.
    pub probe: Option<ExtensionProbe>,
    /// Starts what the extension runs in a hub. Called inside an actix system, so that it can spawn
    /// tasks; it must not wait.
    pub start: fn(&ExtensionContext<'_>) -> StartedExtension,
}

/// Returns how many records of a kind there may be. The argument is the table of the extension, if
/// the file has it.
pub type RecordCapacity = fn(Option<&ConfiguredTable>) -> Usage;

/// Table of `passerelle.toml`. It is read at the start of a hub only, as the whole file.
#[derive(Clone, Copy)]
pub struct SettingsTable {
    /// Its key and description, and the function that reads it with its defaults and secrets.
    pub kind: TableKind,
    /// Reports what doesn't fit the rest of the configuration. Keys are relative to the table.
    pub check: fn(&ConfiguredTable, &OtherSettings<'_>, &mut FileCheck<'_>),
}

/// The rest of the configuration, for the check of a table.
pub struct OtherSettings<'a> {
    pub platform: Platform,
    pub is_sandbox: bool,
    /// Reports each scope of the key `scopes` that the scope table of these rules lacks.
    pub check_scopes: &'a dyn Fn(&mut FileCheck<'_>, &[Scope], ProtocolRules),
}

/// The endpoint at which clients register themselves (RFC 7591), as discovery has it.
#[derive(Clone, Copy, Debug)]
pub struct RegistrationEndpoint {
    pub path: &'static str,
    /// Rules for the requests of the clients.
    pub rules: ProtocolRules,
}

/// Checks the text of a service provider's file that is not in the configuration folder. Returns
/// every problem. The caller makes sure that the text references no file, and checks its scopes.
pub type ServiceProviderFileCheck =
    dyn Fn(&str) -> Result<ServiceProvider, Vec<Diagnostic>> + Send + Sync;

/// Parts of the hub that an extension starts with.
pub struct ExtensionContext<'a> {
    pub core: &'a Arc<HubCore>,
    pub store: &'a Arc<dyn Store>,
    /// Its table, if the file has it.
    pub table: Option<&'a ConfiguredTable>,
    pub client_keys: &'a Arc<KeyDirectory>,
    pub check_service_provider_file: &'a Arc<ServiceProviderFileCheck>,
    /// Name and colours of the pages.
    pub theme: &'a Theme,
    pub retention: RetentionPeriods,
}

/// How long the settings let the hub keep data of persons, besides sessions and tokens, and where
/// it comes from.
#[derive(Clone, Debug)]
pub struct RetentionPeriods {
    /// Time limit of a login.
    pub login: Duration,
    /// Recent logins of the admin console.
    pub remembered_logins: Duration,
    pub audit_log: AuditRetention,
    /// What optional crates keep.
    pub extensions: Vec<KeptData>,
    /// Whether a register of persons confirms identities.
    pub has_register: bool,
}

/// Data of persons that an optional crate keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptData {
    /// Key of the sentence of the privacy notice, with the value `period`.
    pub message: &'static str,
    pub period: Duration,
}

/// How long the audit log is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuditRetention {
    /// There is none.
    Off,
    /// Until the operator deletes it.
    Unlimited,
    Limited(Duration),
}

/// What [`Extension::probe`] works with.
#[derive(Clone, Copy)]
pub struct ProbeContext<'a> {
    pub env: &'a Env,
    /// Name and colours of the pages.
    pub theme: &'a Theme,
    pub languages: &'a Languages,
}

/// Calls the servers that a table names. Returns what to print, or what is wrong.
pub type ExtensionProbe = for<'a> fn(
    &'a ConfiguredTable,
    ProbeContext<'a>,
) -> Pin<Box<dyn Future<Output = Result<String, String>> + 'a>>;

/// Returns what the operator should know while the extension is degraded, from memory.
pub type DegradationCheck = Box<dyn Fn() -> Vec<CheckFinding> + Send + Sync>;

/// What an extension runs in one hub.
#[derive(Default)]
pub struct StartedExtension {
    /// For the handlers of its routes, which find it by its type
    /// ([`Hub::extension`](passerelle_web::Hub::extension)).
    pub state: Option<Arc<dyn Any + Send + Sync>>,
    /// Degradations in `/readyz`, under the name of the extension.
    pub degradations: Option<DegradationCheck>,
    /// Rows in the overview of the admin console and in `passerelle status`.
    pub console_table: Option<ExtensionTableSource>,
    /// Sends one-time codes by mail. Only of an extension with [`Extension::sends_mail_codes`].
    pub mail_codes: Option<Arc<dyn MailCodes>>,
    /// Rate limiters whose counts hubs exchange.
    pub limiters: Vec<Arc<KeyedRateLimiter>>,
}

impl Extension {
    /// Creates an extension that adds nothing.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            error_codes: &[],
            messages: &[],
            metrics: &[],
            record_kinds: &[],
            table: None,
            sends_mail_codes: false,
            audit_events: &[],
            endpoints: Vec::new,
            footer_links: |_| Vec::new(),
            kept_data: |_| None,
            registration_endpoint: |_, _| None,
            admin_endpoints: &[],
            console_acts: &[],
            command: None,
            probe: None,
            start: |_| StartedExtension::default(),
        }
    }

    /// Adds its error codes, messages and audit events to those of the program. Must precede the
    /// reading of a configuration or of a record.
    pub fn install(&self) {
        ErrorCode::add_extension(self.error_codes);
        passerelle_localization::add_extension(self.messages);
        EventKind::add_extension(self.audit_events);
    }
}
