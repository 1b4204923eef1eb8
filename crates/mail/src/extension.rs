//! What the crate adds to a hub.

use std::sync::Arc;

use futures_util::FutureExt as _;
use passerelle_extension::{Extension, ExtensionContext, KeptData, ProbeContext, StartedExtension};
use passerelle_localization::message_texts;
use passerelle_settings::ConfiguredTable;
use passerelle_store::Usage;

use super::mailer::{MAIL_UNDELIVERED, MAILS, MAILS_WAITING, Mailer};
use super::message::MailContent;
use super::person::{MAIL_LOGIN, MAIL_PERSON};
use super::queue::{BUCKETS, MAIL_QUEUE};
use super::settings::{self, MailSettings};
use super::{admin_routes, command};

/// Bytes of a waiting mail, or of the counts of one that was sent.
const QUEUED_MAIL_BYTES: usize = 1024;

/// The settings, records, texts, metrics and operators' routes of mail.
pub const EXTENSION: Extension = Extension {
    error_codes: admin_routes::ALL,
    messages: message_texts!(),
    metrics: &[&MAILS, &MAILS_WAITING],
    record_kinds: &[
        (MAIL_PERSON, person_usage),
        (MAIL_LOGIN, login_usage),
        (MAIL_QUEUE, queue_usage),
    ],
    table: Some(settings::TABLE),
    kept_data,
    sends_mail_codes: true,
    audit_events: &[MAIL_UNDELIVERED, admin_routes::MAIL_ADDRESS_RESET],
    admin_endpoints: admin_routes::ENDPOINTS,
    command: Some(command::COMMAND),
    probe: Some(|table, context| probe_server(table, context).boxed_local()),
    start: start_mailer,
    ..Extension::new("mail")
};

fn number(table: Option<&ConfiguredTable>, key: fn(&settings::MailConfig) -> u32) -> usize {
    let settings = table.and_then(ConfiguredTable::settings::<MailSettings>);
    let number = settings.map_or(1, |settings| key(&settings.config));
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn kept_data(table: &ConfiguredTable) -> Option<KeptData> {
    let config = &table.settings::<MailSettings>()?.config;
    Some(KeptData { message: "mail-address-kept", period: config.address_lifetime() })
}

fn person_usage(table: Option<&ConfiguredTable>) -> Usage {
    MAIL_PERSON.usage_of(number(table, |config| config.max_persons))
}

fn login_usage(table: Option<&ConfiguredTable>) -> Usage {
    MAIL_LOGIN.usage_of(number(table, |config| config.max_persons))
}

fn queue_usage(table: Option<&ConfiguredTable>) -> Usage {
    let waiting = number(table, |config| config.max_waiting);
    // Each record also has the counts of an hour.
    let bytes = MAIL_QUEUE.usage_of(BUCKETS).bytes * 4 + waiting.saturating_mul(QUEUED_MAIL_BYTES);
    Usage { records: BUCKETS, bytes }
}

/// Starts the delivery of mails, if the file has the table.
fn start_mailer(context: &ExtensionContext<'_>) -> StartedExtension {
    let settings = context.table.and_then(ConfiguredTable::settings::<MailSettings>);
    let Some(settings) = settings else { return StartedExtension::default() };
    let (core, store) = (Arc::clone(context.core), Arc::clone(context.store));
    let mailer = Mailer::new(core, store, settings, settings.sender(context.theme));
    let mailer = Arc::new(mailer);
    actix::spawn(Arc::clone(&mailer).run());
    let checked = Arc::clone(&mailer);
    StartedExtension {
        degradations: Some(Box::new(move || checked.backlog().into_iter().collect())),
        mail_codes: Some(Arc::clone(&mailer) as Arc<_>),
        state: Some(mailer),
        ..StartedExtension::default()
    }
}

/// Signs in to the server, and sends a mail to `test_recipient`.
async fn probe_server(
    table: &ConfiguredTable,
    context: ProbeContext<'_>,
) -> Result<String, String> {
    let Some(settings) = table.settings::<MailSettings>() else { return Ok("off".to_owned()) };
    let Some(recipient) = &settings.test_recipient else {
        settings.client.check_account().await.map_err(|error| error.to_string())?;
        return Ok("the server accepts the account; set test_recipient to send a mail".to_owned());
    };
    let (sender, locale) = (settings.sender(context.theme), context.languages.default_locale());
    let mail = sender.write_mail(recipient.clone(), &MailContent::Test, locale, context.env);
    let mail = mail.ok_or("the mail can't be written")?;
    let sent = settings.client.send(mail.envelope(), &mail.formatted()).await;
    sent.map_err(|error| error.to_string())?;
    Ok("the server accepted the mail to test_recipient; check that it arrives".to_owned())
}

#[cfg(test)]
mod tests {
    use passerelle_extension::testing::check_extension;

    use super::EXTENSION;

    #[test]
    fn the_extension_collides_with_nothing_of_the_hub() {
        check_extension(&EXTENSION);
    }
}
