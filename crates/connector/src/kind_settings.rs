//! A connector kind: the type of its `[kind.…]` table, with its rules, the properties that the rest of
//! the hub depends on, and the connector that is built from it. Does not depend on the kinds
//! themselves: they are passed in.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use figment::value::Value as FileValue;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::configured_connector::{ConfiguredConnector, SandboxMode};
use super::diagnostic::{HubEndpoints, RegistrationParameter};
use super::port::{Connector, ConnectorContext};
use super::{ConnectorFile, level_rules};
use passerelle_federation::assurance::acr::AcrPolicy;
use passerelle_federation::forwarded_params::ForwardedParams;
use passerelle_federation::localized_text;
use passerelle_protocol::ids::Secret;
use passerelle_settings::address::{self, PlainHttp};
use passerelle_settings::schema_node;
use passerelle_settings::{
    Diagnostic, FieldDiagnostic, FileCheck, SecretContext, SecretRef, SourceFile, ValueError,
};

/// Settings of a connector: its deserialized `[kind.…]` table, of whatever kind.
pub trait KindSettings: Any + fmt::Debug + Send + Sync {
    /// Reports each invalid value, and returns the hub's secret at the identity provider, if the
    /// kind has one.
    fn check(&self, check: &mut KindCheck<'_>) -> Option<Secret<String>>;

    /// Returns the keys with the path of a file. A relative path is resolved from the
    /// configuration folder, and a missing file is reported.
    fn file_paths_mut(&mut self) -> Vec<(&'static str, &mut PathBuf)> {
        Vec::new()
    }

    /// Returns true if the hub may offer it to requests for a new authentication. This includes
    /// kinds for which the hub itself asks for the password.
    fn reauthenticates(&self) -> bool;

    /// Returns true if anyone can sign in as anyone. Such a connector needs `sandbox = true`.
    fn is_sandbox(&self) -> bool {
        false
    }

    /// Returns true if the identity provider may end sessions by back-channel logout.
    fn accepts_backchannel_logout(&self) -> bool {
        false
    }

    /// Returns true if the identity provider may return the user by POST.
    fn accepts_posted_callbacks(&self) -> bool {
        false
    }

    /// Returns the types of the records that the hub verifies in a login
    /// ([`ElectronicRecord`](passerelle_federation::login::upstream::ElectronicRecord)).
    fn electronic_record_types(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the addresses of the identity provider that its file names.
    fn addresses(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Returns the further authorization parameters of service providers that the identity provider
    /// gets.
    fn forwarded_params(&self) -> ForwardedParams {
        ForwardedParams::default()
    }

    /// Returns the claims that the kind verifies and never passes on.
    fn protocol_claims(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the key that would give the connector keys of its own, if its identity provider learns
    /// the hub's keys from metadata, which it reads about once a day.
    fn own_keys_setting(&self) -> Option<&'static str> {
        None
    }

    /// Returns the key that allows connections without TLS, if it is set.
    fn insecure_key(&self) -> Option<&'static str> {
        None
    }
}

/// A connector kind: settings from a connector file, from which connectors are built.
pub trait ConnectorKind: KindSettings {
    /// Builds the connector. Calls nothing, so that an unavailable identity provider does not
    /// prevent the start. `configured` has these settings as its kind.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    fn build(
        &self,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Arc<dyn Connector>, FieldDiagnostic>;

    /// Returns the `acr` policy. The default is what the file says.
    fn acr_policy(&self, file: &ConnectorFile) -> AcrPolicy {
        acr_policy_from_file(file)
    }

    /// Returns what to register at the identity provider.
    fn registration(&self, _: &HubEndpoints) -> Vec<RegistrationParameter> {
        Vec::new()
    }
}

/// Returns the `acr` policy that a connector file describes.
pub fn acr_policy_from_file(file: &ConnectorFile) -> AcrPolicy {
    AcrPolicy {
        lowest: file.levels.lowest,
        highest: file.levels.highest,
        values: file.acr.values_by_level(),
        names: file.acr.names.clone(),
        assumed: file.assumed_level,
        sends_acr_values: file.acr.send,
        ignores_acr: file.ignore_acr,
    }
}

/// Returns the format of the kind with the table `[kind.{name}]`. `summary` describes it in the
/// schema.
pub const fn connector_kind<K>(name: &'static str, summary: &'static str) -> ConnectorKindFormat
where
    K: ConnectorKind + DeserializeOwned + JsonSchema,
{
    ConnectorKindFormat {
        name,
        summary,
        schema: SchemaGenerator::subschema_for::<K>,
        parse: |table, problems| table.parse::<K>(problems),
    }
}

/// The `[kind.…]` table of a connector file, deserialized.
#[derive(Clone, derive_more::Debug)]
#[debug("{settings:?}")]
pub struct ConfiguredKind {
    /// Name of the table.
    pub name: &'static str,
    settings: Arc<dyn ConnectorKind>,
}

impl ConfiguredKind {
    /// Returns the settings as this type; `None` if they are of another kind.
    pub fn downcast_ref<K: ConnectorKind>(&self) -> Option<&K> {
        let settings: &dyn Any = &*self.settings;
        settings.downcast_ref()
    }
}

impl Deref for ConfiguredKind {
    type Target = dyn ConnectorKind;

    fn deref(&self) -> &Self::Target {
        &*self.settings
    }
}

/// Format of a connector kind: the name of its table, and how the table is described and read.
#[derive(Clone, Copy, derive_more::Debug)]
#[debug("{name}")]
pub struct ConnectorKindFormat {
    /// Name of the table.
    pub name: &'static str,
    /// Description in the schema.
    pub summary: &'static str,
    /// Returns the schema of the table.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Deserializes the table. Reports invalid values and then returns `None`.
    pub parse: fn(&KindTableSource<'_>, &mut Vec<Diagnostic>) -> Option<ConfiguredKind>,
}

impl ConnectorKindFormat {
    /// Returns a kind that this build of the program lacks, because a Cargo feature of the same
    /// name is off.
    pub const fn missing(name: &'static str) -> Self {
        Self {
            name,
            summary: "Not part of this program.",
            schema: |_| schemars::json_schema!({ "type": "object", "additionalProperties": true }),
            parse: |table, problems| {
                problems.push(table.missing_feature());
                None
            },
        }
    }
}

/// The `[kind.…]` table of one file, to be deserialized.
pub struct KindTableSource<'a> {
    source: &'a SourceFile,
    kinds: SupportedKinds,
    name: &'static str,
    folder: &'a Path,
}

impl KindTableSource<'_> {
    /// Deserializes the table, with absolute paths. Reports invalid values and then returns `None`;
    /// reports missing files.
    pub fn parse<K: ConnectorKind + DeserializeOwned + JsonSchema>(
        &self,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<ConfiguredKind> {
        let Self { source, kinds, name, folder } = *self;
        let mut settings: K =
            source.deserialize_at(&["kind", name], || connector_schema(kinds.formats), problems)?;
        let mut check = FileCheck::new(source, problems);
        let mut check = check.table(&format!("kind.{name}"));
        for (key, path) in settings.file_paths_mut() {
            check.check_file(key, folder, path);
            *path = folder.join(&*path);
        }
        Some(ConfiguredKind { name, settings: Arc::new(settings) })
    }

    fn missing_feature(&self) -> Diagnostic {
        let name = self.name;
        let message = format!("needs the Cargo feature `{name}`, which this program lacks");
        let fix = format!("build it with `cargo build --features {name}`, or use another kind");
        self.source.diagnostic(&format!("kind.{name}"), message, fix)
    }
}

/// The kinds that connector files may have.
#[derive(Clone, Copy, Debug)]
pub struct SupportedKinds {
    /// Every kind.
    pub formats: &'static [ConnectorKindFormat],
    /// Whether sandboxes are among them.
    pub sandbox: SandboxMode,
}

impl SupportedKinds {
    /// Deserializes the `[kind.…]` table. A missing one is reported with the rest of the file.
    pub fn parse(self, check: &mut FileCheck<'_>, folder: &Path) -> Option<ConfiguredKind> {
        let (written, table) = match check.source.values().get("kind")? {
            FileValue::Dict(_, tables) => (tables.keys().next(), true),
            FileValue::String(_, text) => (Some(text), false),
            _ => (None, false),
        };
        let known = |written: &String| self.formats.iter().find(|kind| kind.name == written);
        match (written.map(known), table) {
            (Some(Some(kind)), true) => {
                let table =
                    KindTableSource { source: check.source, kinds: self, name: kind.name, folder };
                (kind.parse)(&table, check.problems)
            }
            (Some(None), is_table) => {
                let key = match written {
                    Some(name) if is_table => format!("kind.{name}"),
                    _ => "kind".to_owned(),
                };
                let fix = format!("write one of: {}", self.names(std::borrow::ToOwned::to_owned));
                check.report(&key, "is not one of the allowed words", fix);
                None
            }
            _ => {
                let fix = format!("write one of: {}", self.names(|name| format!("[kind.{name}]")));
                check.report("kind", "must be a table", fix);
                None
            }
        }
    }

    /// Checks that the file has one table, which is allowed, with valid values. Returns the
    /// resolved secret.
    pub fn check(self, kind: &ConfiguredKind, check: &mut KindCheck<'_>) -> Option<Secret<String>> {
        if check.check.source.key_count("kind") > 1 {
            let fix = format!("keep one of: {}", self.names(|name| format!("[kind.{name}]")));
            check.report_in_file("kind", "contains more than one kind", fix);
        }
        if kind.is_sandbox() && self.sandbox == SandboxMode::Off {
            let fix =
                "remove this file, or set sandbox = true in passerelle.toml (never in production)";
            check.report_in_file(
                &format!("kind.{}", kind.name),
                "is a sandbox, where anyone can sign in as anyone, but sandbox is off",
                fix,
            );
        }
        kind.settings.check(check)
    }

    fn names(self, written: impl Fn(&str) -> String) -> String {
        let names: Vec<_> = self.formats.iter().map(|kind| written(kind.name)).collect();
        names.join(", ")
    }
}

/// Returns the schema of a connector file of these kinds.
pub fn connector_schema(kinds: &[ConnectorKindFormat]) -> serde_json::Value {
    let mut generator = schema_node::generator();
    let mut schema = generator.root_schema_for::<ConnectorFile>().to_value();
    let variant = |kind: &ConnectorKindFormat| {
        serde_json::json!({
            "type": "object",
            "properties": { kind.name: (kind.schema)(&mut generator) },
            "required": [kind.name],
            "additionalProperties": false,
            "description": kind.summary,
        })
    };
    let variants: Vec<_> = kinds.iter().map(variant).collect();
    let tables: Vec<_> = kinds.iter().map(|kind| format!("`[kind.{}]`", kind.name)).collect();
    let mut replace = |pointer: &str, value: serde_json::Value| {
        if let Some(place) = schema.pointer_mut(pointer) {
            *place = value;
        }
    };
    replace("/$defs", generator.take_definitions(false).into());
    replace("/$defs/ConnectorKind/oneOf", variants.into());
    let description = format!("The protocol: exactly one of {}.", tables.join(", "));
    replace("/properties/kind/description", description.into());
    schema
}

/// Checks the table of one connector file, and collects the problems.
pub struct KindCheck<'a> {
    check: FileCheck<'a>,
    name: &'static str,
    file: &'a ConnectorFile,
    context: &'a SecretContext<'a>,
    /// What [`KindCheck::resolve_client_identity`] has read.
    pub client_identity: Option<Secret<String>>,
}

impl<'a> KindCheck<'a> {
    /// Creates the check of the table `[kind.{name}]`.
    pub const fn new(
        check: FileCheck<'a>,
        name: &'static str,
        file: &'a ConnectorFile,
        context: &'a SecretContext<'a>,
    ) -> Self {
        Self { check, name, file, context, client_identity: None }
    }

    /// Returns the rest of the file.
    pub const fn file(&self) -> &ConnectorFile {
        self.file
    }

    /// Returns the check of the table.
    fn table(&mut self) -> FileCheck<'_> {
        self.check.table(&format!("kind.{}", self.name))
    }

    /// Reports a problem at a key of the table.
    pub fn report(&mut self, key: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.table().report(key, message, fix);
    }

    /// Reports a problem at a key of the file.
    pub fn report_in_file(
        &mut self,
        key: &str,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.check.report(key, message, fix);
    }

    /// Returns the value; reports the rule that it breaks, and returns `None`.
    pub fn accept<T>(&mut self, key: &str, parsed: Result<T, ValueError>) -> Option<T> {
        self.table().accept(key, parsed)
    }

    /// Reports a text without a visible character.
    #[expect(
        clippy::disallowed_methods,
        reason = "a text of white space of any script shows nothing"
    )]
    pub fn require_text(&mut self, key: &str, text: &str, fix: &str) {
        if text.trim().is_empty() {
            self.report(key, "is empty", fix);
        }
    }

    /// Reports a text that is not one line of 1 to `most` characters.
    pub fn check_text(&mut self, key: &str, text: &str, most: usize) {
        if let Some(found) = localized_text::text_diagnostic(key, text, most) {
            self.table().add(found);
        }
    }

    /// Reports texts in no language, and each that is not one line of 1 to `most` characters.
    pub fn check_texts(&mut self, key: &str, texts: &BTreeMap<String, String>, most: usize) {
        localized_text::check_texts(&mut self.table(), key, texts, most);
    }

    /// Reports a URL that is not absolute, or not allowed.
    pub fn check_url(&mut self, key: &str, url: &str, http: PlainHttp) {
        self.accept(key, address::parse_absolute_url(url, http));
    }

    /// Reports a URL that is not that of an issuer, or not allowed.
    pub fn check_issuer(&mut self, key: &str, url: &str, http: PlainHttp) {
        self.accept(key, address::parse_issuer(url, http));
    }

    /// Reports each entry that is not a host.
    pub fn check_hosts(&mut self, key: &str, hosts: &[String]) {
        self.table().check_hosts(key, hosts);
    }

    /// Reports each parameter that the hub sets itself.
    pub fn check_params(
        &mut self,
        key: &str,
        params: &BTreeMap<String, String>,
        protocol_params: &[&str],
    ) {
        for name in params.keys().filter(|name| protocol_params.contains(&name.as_str())) {
            let message = "is a protocol parameter, which the hub sets itself";
            self.report(&format!("{key}.{name}"), message, "remove it");
        }
    }

    /// Reads the secret behind a reference. Returns `None` and reports a problem if that fails.
    pub fn secret(&mut self, key: &str, reference: &SecretRef) -> Option<Secret<String>> {
        let context = self.context;
        self.table().resolve_secret(key, reference, context)
    }

    /// Reads the hub's client certificate and its key, and reports what can't be read.
    pub fn resolve_client_identity(
        &mut self,
        certificate: (&str, &SecretRef),
        private_key: (&str, &SecretRef),
    ) {
        let certificate = self.secret(certificate.0, certificate.1);
        let private_key = self.secret(private_key.0, private_key.1);
        // Otherwise both are placeholders, which are not PEM.
        if !self.context.environment.is_without_secrets() {
            self.client_identity = certificate.zip(private_key).map(|(certificate, key)| {
                Secret::new(format!("{}\n{}\n", certificate.reveal(), key.reveal()))
            });
        }
    }

    /// Checks the levels of a kind that returns an `acr`.
    pub fn check_levels(&mut self) {
        if self.file.levels.lowest <= self.file.levels.highest {
            level_rules::check_levels(&mut self.check, self.file);
        }
        level_rules::check_ignore_acr(&mut self.check, self.file);
    }

    /// Checks the levels of a kind that returns no `acr`, which can only have eidas1.
    pub fn check_levels_without_acr(&mut self) {
        level_rules::check_levels_without_acr(&mut self.check, self.file);
    }
}
