//! `passerelle status`: shows the status of the running hub.

mod scrape;
mod screen;

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use passerelle::app::admin_client::AdminClient;

use self::scrape::{Scrape, StatusView};
use super::idp_command::{CommandError, HubOptions};
use super::output::{self, out, outln};
use super::{Signals, block_on};

/// Interval between two scrapes.
const SCRAPE_INTERVAL: Duration = Duration::from_secs(1);
/// Scrapes kept: `--watch` shows rates over this many seconds.
const MAX_SCRAPES: usize = 60;

/// Switches to the alternate screen, without cursor and line wrapping.
const ENTER_SCREEN: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE_SCREEN: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// Measures for a second and prints the result. Exit codes: 0 success; 1 rejected, with the reason;
/// 3 the hub does not answer; 4 missing or wrong token; 64 wrong option.
#[derive(Args)]
pub struct StatusCommand {
    /// Refresh the screen each second until Ctrl+C. Without a terminal, print once.
    #[arg(long)]
    watch: bool,
    /// Print JSON, once.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubOptions,
}

impl StatusCommand {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        let done = block_on(async move { Ok(self.show().await) })
            .map_err(CommandError::from)
            .and_then(|done| done);
        CommandError::exit_code(done)
    }

    async fn show(self) -> Result<(), CommandError> {
        let hub = self.hub.connect()?;
        let first = Scrape::fetch(&hub).await?;
        if !self.watch || self.json || !std::io::stdout().is_terminal() {
            tokio::time::sleep(SCRAPE_INTERVAL).await;
            let view = StatusView::between(&first, Scrape::fetch(&hub).await?);
            if self.json {
                outln!(
                    "{}",
                    serde_json::to_string_pretty(&view).map_err(|error| error.to_string())?
                );
            } else {
                out!("{}", screen::render_screen(&view));
            }
            return Ok(());
        }
        // However the loop ends, the terminal is restored.
        let mut signals = Signals::listen()?;
        out!("{ENTER_SCREEN}");
        let ended = tokio::select! {
            ended = watch(&hub, first) => ended,
            () = signals.stop() => Ok(()),
        };
        out!("{LEAVE_SCREEN}");
        ended
    }
}

async fn watch(hub: &AdminClient, first: Scrape) -> Result<(), CommandError> {
    let mut scrapes = VecDeque::from([first]);
    loop {
        tokio::time::sleep(SCRAPE_INTERVAL).await;
        let frame = match Scrape::fetch(hub).await {
            Ok(scrape) => {
                let since = scrapes.front().cloned().unwrap_or_else(|| scrape.clone());
                let frame = screen::render_screen(&StatusView::between(&since, scrape.clone()));
                scrapes.push_back(scrape);
                if scrapes.len() > MAX_SCRAPES {
                    scrapes.pop_front();
                }
                frame
            }
            // The hub may be restarting: keep trying.
            Err(fault) => {
                scrapes.clear();
                format!("{fault}\n\nRetrying each second; press Ctrl+C to stop.\n")
            }
        };
        out!("\x1b[H{}\x1b[J", frame.replace('\n', "\x1b[K\r\n"));
        if output::has_failed() {
            return Ok(());
        }
    }
}
