//! Random walks of one browser through several logins. In every order of links, forms, reloads and
//! old forms, a login gives one response, and its code is that of the user whom its page showed.

use std::collections::{BTreeMap, BTreeSet};

use passerelle_protocol::env::Entropy as _;
use passerelle_testkit::env::SeededEntropy;

use super::browser::{Browser, Page};
use super::hub::TestHub;
use super::markup::Form;
use super::service::{Authorize, Received, STATE};

const WALKS: u64 = 12;
const STEPS: usize = 120;
const LOGINS: usize = 3;
const PERSONS: [&str; 3] = ["angela", "jean", "maria"];

/// A step that a page offered, and that the browser may take at any later time.
enum Step {
    Open(String),
    Submit(Form),
}

#[derive(Default)]
struct Walk {
    seen: Vec<Step>,
    /// What each login's service provider received, by `state`.
    answers: BTreeMap<String, BTreeSet<String>>,
    received: Vec<Received>,
    /// The family names that each login's consent page showed, by the page's address.
    shown: BTreeMap<String, BTreeSet<String>>,
}

struct RandomSource(SeededEntropy);

impl RandomSource {
    /// Returns a number below `limit`.
    fn random_below(&self, limit: usize) -> usize {
        usize::from(u16::from_be_bytes([self.0.bits256()[0], self.0.bits256()[1]])) % limit
    }
}

#[actix_web::test]
async fn no_order_of_steps_gives_a_login_two_answers_or_the_identity_of_another() {
    let hub = TestHub::start().await;
    let mut codes = 0;
    for seed in 0..WALKS {
        let browser = hub.browser();
        let random = RandomSource(SeededEntropy::new(seed));
        let mut walk = Walk::default();
        for n in 0..LOGINS {
            // The last one may reuse the session of another.
            let request = Authorize::by("bakery").with("state", &format!("{STATE}-{n}"));
            let request = if n + 1 == LOGINS { request.with("prompt", "consent") } else { request };
            walk.record_page(browser.authorize(&request).await, &random);
        }
        for _ in 0..STEPS {
            walk.step(&browser, &random).await;
        }
        codes += walk.check(&hub, seed).await;
    }
    assert!(codes > 10, "the walks get too few codes: {codes}");
}

impl Walk {
    async fn step(&mut self, browser: &Browser<'_>, random: &RandomSource) {
        // Mostly a step of the latest pages, sometimes an older one.
        let recent =
            if random.random_below(4) == 0 { self.seen.len() } else { self.seen.len().min(8) };
        let page = match &self.seen[self.seen.len() - 1 - random.random_below(recent)] {
            Step::Open(url) => browser.open(url).await,
            Step::Submit(form) => {
                let page = browser.submit(form).await;
                // The hub drops the identity that the page showed, and must never release it.
                if page.answer.body.contains("You said that this was not you.")
                    && let Some(login) = form.action.strip_suffix("/not-me")
                {
                    self.shown.remove(&format!("{login}/consent"));
                }
                page
            }
        };
        self.record_page(page, random);
    }

    fn record_page(&mut self, page: Page<'_>, random: &RandomSource) {
        assert!(page.answer.status < 500, "{} at {}", page.answer.status, page.url);
        if !page.url.starts_with('/') {
            let received = page.received();
            let what = format!(
                "{:?} {:?}",
                received.fields.get("code"),
                received.fields.get("error_description")
            );
            self.answers.entry(received.fields["state"].clone()).or_default().insert(what);
            self.received.push(received);
            return;
        }
        if page.is_consent() {
            self.shown
                .entry(page.url.clone())
                .or_default()
                .insert(page.listed_claims()["Family name at birth"].clone());
        }
        for form in page.forms() {
            // Most pages have a form that ends the login; skip most of them.
            let is_end = ["/cancel", "/not-me"].iter().any(|end| form.action.ends_with(end));
            if is_end && random.random_below(8) > 0 {
                continue;
            }
            if form.action.starts_with("/sandbox/") {
                let person = PERSONS[random.random_below(PERSONS.len())];
                self.seen.push(Step::Submit(page.sandbox_form(person)));
            } else if form.buttons.is_empty() {
                self.seen.push(Step::Submit(form.clone()));
            }
            for (name, value) in form
                .buttons
                .iter()
                .filter(|(_, value)| value != "no" || random.random_below(4) == 0)
            {
                self.seen.push(Step::Submit(form.clone().with(name, value)));
            }
        }
        self.seen.push(Step::Open(page.url));
    }

    /// Checks the responses. Returns the number of codes.
    async fn check(&self, hub: &TestHub, seed: u64) -> usize {
        for (state, answers) in &self.answers {
            assert_eq!(answers.len(), 1, "walk {seed}, {state}: {answers:?}");
        }
        for (page, names) in &self.shown {
            assert_eq!(names.len(), 1, "walk {seed}, {page}: {names:?}");
        }
        let codes: BTreeMap<&str, &Received> = self
            .received
            .iter()
            .filter_map(|one| Some((one.fields.get("code")?.as_str(), one)))
            .collect();
        let mut delivered: Vec<String> = Vec::new();
        for received in codes.values() {
            delivered.push(hub.family_name("bakery", received).await);
        }
        let mut shown: Vec<&String> = self.shown.values().flatten().collect();
        for name in &delivered {
            let place = shown.iter().position(|one| *one == name);
            shown.remove(
                place.unwrap_or_else(|| panic!("walk {seed}: {name} was delivered and on no page")),
            );
        }
        codes.len()
    }
}
