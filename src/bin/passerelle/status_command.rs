//! `passerelle top`: how the running hub is doing, in the terminal, anew each second.

mod reading;
mod screen;

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use passerelle::app::administer::Administration;

use self::reading::{Reading, Told};
use super::idp_command::{Failure, HubOptions};
use super::output::{self, out, outln};
use super::{Signals, in_system};

/// Between two looks.
const ROUND: Duration = Duration::from_secs(1);
/// Readings that are kept: what is told of happened in this many seconds.
const KEPT: usize = 60;

/// Another screen, which leaves the terminal's own as it was; no cursor; long lines are cut, and not wrapped.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// Ctrl+C ends it. Exit codes: 0; 1 refused, with the reason; 64 a wrong option; 3 the hub does not answer; 4 no token, or a
/// wrong one.
#[derive(Args)]
pub struct TopCommand {
    /// Look for a second, print, and end; so it does too where the output is no terminal.
    #[arg(long)]
    once: bool,
    /// As JSON, for programs: once.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubOptions,
}

impl TopCommand {
    pub fn run(self) -> ExitCode {
        let done = in_system(async move { Ok(self.look().await) })
            .map_err(Failure::from)
            .and_then(|done| done);
        Failure::told(done)
    }

    async fn look(self) -> Result<(), Failure> {
        let hub = self.hub.reach()?;
        let first = Reading::of(&hub).await?;
        if self.once || self.json || !std::io::stdout().is_terminal() {
            tokio::time::sleep(ROUND).await;
            let told = Told::of(&first, Reading::of(&hub).await?);
            if self.json {
                outln!(
                    "{}",
                    serde_json::to_string_pretty(&told).map_err(|error| error.to_string())?
                );
            } else {
                out!("{}", screen::draw(&told));
            }
            return Ok(());
        }
        // Whatever ends the loop, the terminal is as it was.
        let mut signals = Signals::listen()?;
        out!("{ENTER}");
        let ended = tokio::select! {
            ended = follow(&hub, first) => ended,
            () = signals.stop() => Ok(()),
        };
        out!("{LEAVE}");
        ended
    }
}

async fn follow(hub: &Administration, first: Reading) -> Result<(), Failure> {
    let mut kept = VecDeque::from([first]);
    loop {
        tokio::time::sleep(ROUND).await;
        let frame = match Reading::of(hub).await {
            Ok(reading) => {
                let since = kept.front().cloned().unwrap_or_else(|| reading.clone());
                let frame = screen::draw(&Told::of(&since, reading.clone()));
                kept.push_back(reading);
                if kept.len() > KEPT {
                    kept.pop_front();
                }
                frame
            }
            // It is just being restarted, perhaps: whoever watches wants to see it come back.
            Err(fault) => {
                kept.clear();
                format!("{fault}\n\nTrying again each second; Ctrl+C ends.\n")
            }
        };
        out!("\x1b[H{}\x1b[J", frame.replace('\n', "\x1b[K\r\n"));
        if output::has_failed() {
            return Ok(());
        }
    }
}
