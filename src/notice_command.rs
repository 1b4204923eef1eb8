//! `passerelle notice`: publishes, removes and lists notices to the users of the running hub.

use clap::{Subcommand, ValueEnum};
use passerelle_admin::{NewNotice, NoticeChange};
use passerelle_federation::localized_text::text_in_language;
use passerelle_federation::notices::{NoticeSeverity, NoticeTable};
use passerelle_hub::notices::NoticeRow;

use super::hub_options::HubOptions;
use super::idp_command::parse_texts;
use super::output::{out, print_error};
use super::period_options::PeriodOptions;
use super::{CommandResult, print_json};

/// Exit codes: those of `idp`.
#[derive(Subcommand)]
pub(crate) enum NoticeCommand {
    /// Publish a notice to all users, on the pages of every hub that shares the store.
    Publish {
        /// Text for users, as en="…"; once for each language.
        #[arg(long, value_name = "LANGUAGE=TEXT", required = true)]
        text: Vec<String>,
        /// Why, for operators: recorded in the log and in the audit log.
        #[arg(long)]
        reason: String,
        /// Look of the notice.
        #[arg(long, value_enum, default_value = "info")]
        severity: SeverityOption,
        /// Absolute https URL of a page with details.
        #[arg(long, value_name = "URL")]
        link: Option<String>,
        #[command(flatten)]
        period: PeriodOptions,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// Remove a notice that was published on the running hub.
    Remove {
        /// Its id, as shown by `notice list`.
        id: String,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// List the notices that are shown now or later, those of notices.toml too.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        hub: HubOptions,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SeverityOption {
    Info,
    Warning,
}

impl NoticeCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if the hub rejects the request or does not answer.
    pub(crate) async fn run(self) -> CommandResult<()> {
        match self {
            Self::Publish { text, reason, severity, link, period, hub } => {
                let severity = match severity {
                    SeverityOption::Info => NoticeSeverity::Info,
                    SeverityOption::Warning => NoticeSeverity::Warning,
                };
                let text = parse_texts("--text", &text)?;
                let until = period.end();
                let notice = NoticeTable { text, from: period.from, until, severity, link };
                let new = NewNotice { notice, reason };
                print_change("published", &hub.connect()?.publish_notice(&new).await?);
            }
            Self::Remove { id, hub } => {
                print_change("removed", &hub.connect()?.remove_notice(&id).await?);
            }
            Self::List { json, hub } => {
                let list = hub.connect()?.notices().await?;
                if json {
                    print_json(&list)?;
                } else {
                    out!("{}", list.notices.iter().map(format_notice).collect::<String>());
                }
            }
        }
        Ok(())
    }
}

fn print_change(what: &str, change: &NoticeChange) {
    out!("{what}: {}", format_notice(&change.notice));
    if let Some(warning) = &change.warning {
        print_error(warning);
    }
}

fn format_notice(notice: &NoticeRow) -> String {
    let id = notice.id.as_deref().unwrap_or("notices.toml");
    let date = |word: &str, at: Option<&String>| at.map(|at| format!("{word} {at}, "));
    let from = date("from", notice.from.as_ref().filter(|_| !notice.in_force)).unwrap_or_default();
    let until = date("until", notice.until.as_ref()).unwrap_or_default();
    let languages = notice.text.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    format!("{id:<12} {from}{until}in {languages}: {}\n", text_in_language(&notice.text, "en"))
}
