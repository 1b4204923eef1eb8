//! An optional crate that keeps codes by mail instead of sending them.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use async_trait::async_trait;
use passerelle_extension::{Extension, ExtensionContext, SettingsTable, StartedExtension};
use passerelle_hub::mail_codes::{
    MAX_WRONG_CODES_PER_DAY, MailCode, MailCodeError, MailCodes, MailUser,
};
use passerelle_protocol::ids::Secret;
use passerelle_settings::{ConfiguredTable, TableKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keeps the codes of a hub with the table `[fake_mail]`.
pub const FAKE_MAIL: Extension = Extension {
    sends_mail_codes: true,
    table: Some(SettingsTable {
        kind: TableKind {
            name: "fake_mail",
            summary: "Codes by mail that are kept for a test.",
            schema: |generator| generator.subschema_for::<FakeMailConfig>(),
            load: |table| {
                let config: FakeMailConfig = table.deserialize()?;
                Some(table.configured(&config, config.clone()))
            },
        },
        check: |_, _, _| (),
    }),
    start: start_fake_mail,
    ..Extension::new("fake-mail")
};

/// `[fake_mail]`.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FakeMailConfig {
    /// Name of the mailboxes. Hubs with the same name share them.
    pub name: String,
}

/// What hubs with one name share.
#[derive(Default)]
pub struct FakeMailCodes(Mutex<Mailboxes>);

#[derive(Default)]
struct Mailboxes {
    addresses: BTreeMap<(String, String), Secret<String>>,
    sent: Vec<MailCode>,
    wrong_codes: BTreeMap<(String, String), u32>,
    calls: Vec<&'static str>,
    is_down: bool,
}

impl Mailboxes {
    fn check_wrong_codes(&self, user: &MailUser) -> Result<(), MailCodeError> {
        let wrong = self.wrong_codes.get(&key(user)).copied().unwrap_or_default();
        if wrong < MAX_WRONG_CODES_PER_DAY { Ok(()) } else { Err(MailCodeError::Limited) }
    }
}

/// Two hubs of one process have no other object in common.
static BY_NAME: LazyLock<Mutex<BTreeMap<String, Arc<FakeMailCodes>>>> =
    LazyLock::new(Mutex::default);

impl FakeMailCodes {
    /// Returns the mailboxes of this name.
    pub fn named(name: &str) -> Arc<Self> {
        let mut all = BY_NAME.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(name.to_owned()).or_default())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Mailboxes) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns every code that was sent.
    pub fn sent(&self) -> Vec<MailCode> {
        self.with(|mailboxes| mailboxes.sent.clone())
    }

    /// Replaces every stored address, as if each person had once confirmed this one.
    pub fn set_addresses(&self, address: &str) {
        self.with(|mailboxes| {
            for stored in mailboxes.addresses.values_mut() {
                *stored = Secret::new(address.to_owned());
            }
        });
    }

    /// Returns the stored addresses.
    pub fn addresses(&self) -> Vec<String> {
        self.with(|mailboxes| {
            mailboxes.addresses.values().map(|address| address.reveal().clone()).collect()
        })
    }

    /// Returns the names of the calls since the last time.
    pub fn take_calls(&self) -> Vec<&'static str> {
        self.with(|mailboxes| std::mem::take(&mut mailboxes.calls))
    }

    /// Makes every call fail.
    pub fn stop(&self) {
        self.with(|mailboxes| mailboxes.is_down = true);
    }

    fn act<T>(
        &self,
        call: &'static str,
        act: impl FnOnce(&mut Mailboxes) -> T,
    ) -> Result<T, MailCodeError> {
        self.with(|mailboxes| {
            mailboxes.calls.push(call);
            if mailboxes.is_down { Err(MailCodeError::Unavailable) } else { Ok(act(mailboxes)) }
        })
    }
}

fn key(user: &MailUser) -> (String, String) {
    (user.connector.to_string(), user.person.as_str().to_owned())
}

#[async_trait]
impl MailCodes for FakeMailCodes {
    fn check_address(&self, address: &Secret<String>) -> Result<(), MailCodeError> {
        if address.reveal().is_ascii() { Ok(()) } else { Err(MailCodeError::AddressUnusable) }
    }

    async fn stored_address(
        &self,
        user: &MailUser,
    ) -> Result<Option<Secret<String>>, MailCodeError> {
        self.act("stored_address", |mailboxes| mailboxes.addresses.get(&key(user)).cloned())
    }

    async fn store_address(
        &self,
        user: &MailUser,
        address: &Secret<String>,
    ) -> Result<(), MailCodeError> {
        self.act("store_address", |mailboxes| {
            mailboxes.addresses.entry(key(user)).or_insert_with(|| address.clone());
        })
    }

    async fn confirm_address(
        &self,
        user: &MailUser,
        address: &Secret<String>,
    ) -> Result<(), MailCodeError> {
        self.act("confirm_address", |mailboxes| {
            mailboxes.check_wrong_codes(user)?;
            mailboxes.addresses.entry(key(user)).or_insert_with(|| address.clone());
            Ok(())
        })?
    }

    async fn send_code(&self, code: MailCode) -> Result<(), MailCodeError> {
        self.act("send_code", |mailboxes| {
            mailboxes.check_wrong_codes(&code.user)?;
            mailboxes.sent.push(code);
            Ok(())
        })?
    }

    async fn record_wrong_code(&self, user: &MailUser) -> Result<(), MailCodeError> {
        self.act("record_wrong_code", |mailboxes| {
            mailboxes.check_wrong_codes(user)?;
            *mailboxes.wrong_codes.entry(key(user)).or_default() += 1;
            Ok(())
        })?
    }
}

fn start_fake_mail(context: &ExtensionContext<'_>) -> StartedExtension {
    let config: Option<&FakeMailConfig> = context.table.and_then(ConfiguredTable::settings);
    let mail_codes = config.map(|config| FakeMailCodes::named(&config.name) as Arc<dyn MailCodes>);
    StartedExtension { mail_codes, ..StartedExtension::default() }
}
