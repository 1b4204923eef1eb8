//! Measures the memory of logins: waiting at the choice page, finished, and after their records
//! have expired.
//!
//! `cargo bench --bench memory`; `-- 200000 20000` for other numbers of waiting and finished
//! logins. It takes about five minutes, most of which it waits for the expiry. Nothing is asserted:
//! read the figures. They include what the process needs once, so small numbers give large figures.
#![expect(clippy::unwrap_used, reason = "a measurement that can't be made should stop")]

use std::fs;
use std::time::Duration;

use passerelle_testkit::harness::browser::Browser;
use passerelle_testkit::harness::hub::TestHub;
use passerelle_testkit::harness::service::Authorize;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Short lifetimes: with the minute that records outlive them, the last expires after two minutes.
const SETTINGS: &str = "
limits.logins = 1200000
limits.remembered_logins = 0
lifetimes.access_token_seconds = 30
lifetimes.session_idle_seconds = 60
";
const EXPIRY: Duration = Duration::from_secs(240);
const READING_INTERVAL: Duration = Duration::from_secs(30);

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let (waiting, finished) = (numbers.next().unwrap_or(100_000), numbers.next().unwrap_or(10_000));
    actix_web::rt::System::new().block_on(measure(waiting, finished));
}

async fn measure(waiting: u64, finished: u64) {
    let hub = TestHub::with(SETTINGS).await;
    let request = Authorize::by("bakery").url();
    log_in(&hub).await;
    let start = resident_bytes();
    println!("start: {}", megabytes(start));

    for _ in 0..finished {
        log_in(&hub).await;
    }
    let after_finished = resident_bytes();
    report(finished, "finished logins", after_finished, start);

    for _ in 0..waiting {
        // Without the page, which a test would render for longer than the hub opens the login.
        Browser::new(&hub, "en").get(&request).await;
    }
    report(waiting, "waiting logins", resident_bytes(), after_finished);

    let mut waited = Duration::ZERO;
    while waited < EXPIRY {
        actix_web::rt::time::sleep(READING_INTERVAL).await;
        hub.advance(READING_INTERVAL);
        waited += READING_INTERVAL;
        println!("{} s later: {}", waited.as_secs(), megabytes(resident_bytes()));
    }
}

/// A login with a code, an access token and userinfo.
async fn log_in(hub: &TestHub) {
    let browser = Browser::new(hub, "en");
    let received = browser.authorize(&Authorize::by("bakery")).await.finish_as("angela").await;
    let answer = hub.redeem("bakery", received.code()).await;
    let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    hub.get_userinfo(body.get("access_token").unwrap().as_str().unwrap()).await;
}

fn report(logins: u64, what: &str, now: u64, before: u64) {
    let each = now.saturating_sub(before) / logins.max(1);
    println!("{logins} {what}: {}, {each} bytes each", megabytes(now));
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes / 1_000_000)
}

/// Returns the resident set size (`VmRSS` of `proc_pid_status(5)`).
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim_ascii().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
