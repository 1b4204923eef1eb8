//! Choice pages: few and many identity providers, in every state.

use std::sync::Arc;

use super::HASH;
use crate::pages::*;
use passerelle_federation::logo::Logo;
use passerelle_federation::provider_display::ProviderDisplay;
use passerelle_federation::session::gate::UnavailableReason;
use passerelle_localization::LocalizedStr;
use passerelle_protocol::acr::Level;
use passerelle_protocol::catalogue::ErrorCode;

const NAMES: [&str; 20] = [
    "Impôts",
    "La Poste",
    "Assurance Maladie",
    "Mutualité agricole",
    "Carte d’identité électronique",
    "Banque du Rhône",
    "Académie de Lyon",
    "Région Bretagne",
    "Ville de Nantes",
    "Ordre des notaires",
    "Caisse d’épargne",
    "Crédit maritime",
    "Université de Lille",
    "Hôpitaux de Paris",
    "Chambre d’agriculture",
    "Barreau de Toulouse",
    "Métropole de Lyon",
    "Département du Nord",
    "Collège de France",
    "École des mines",
];

/// Identity providers of a choice page: some available, some not.
pub(crate) struct ProviderFixture {
    entries: Vec<(String, ProviderDisplay, Option<UnavailableReason>)>,
    block_message: Option<&'static str>,
    headings: &'static [CategoryHeading<'static>],
    /// The id of one with a warning.
    warned_id: Option<&'static str>,
}

const HEADINGS: [CategoryHeading<'static>; 4] = [
    CategoryHeading { id: "state", name: LocalizedStr::new("Services de l’État", None) },
    CategoryHeading { id: "bank", name: LocalizedStr::new("Banques", None) },
    CategoryHeading { id: "health", name: LocalizedStr::new("Santé", None) },
    CategoryHeading { id: "empty", name: LocalizedStr::new("Personne", None) },
];

fn provider_display(name: &str, category: Option<&str>) -> ProviderDisplay {
    ProviderDisplay::new(
        Arc::new([("fr".to_owned(), name.to_owned())].into()),
        &[],
        category.map(str::to_owned),
        None,
    )
}

impl ProviderFixture {
    pub(crate) fn with_available(count: usize) -> Self {
        let name = |n: usize| match NAMES.get(n) {
            Some(name) => (*name).to_owned(),
            None => format!("{} {}", NAMES[n % NAMES.len()], n / NAMES.len() + 1),
        };
        let entries = (0..count)
            .map(|n| (format!("idp-{n}"), provider_display(&name(n), None), None))
            .collect();
        Self { entries, block_message: None, headings: &[], warned_id: None }
    }

    /// Assigns them to three categories, one in six to none.
    pub(crate) fn in_categories(mut self) -> Self {
        self.headings = &HEADINGS;
        let categories =
            [Some("state"), Some("bank"), None, Some("state"), Some("health"), Some("unknown")];
        for ((_, entry, _), category) in self.entries.iter_mut().zip(categories.into_iter().cycle())
        {
            entry.category = category.map(str::to_owned);
        }
        self
    }

    pub(crate) fn with_unavailable(mut self, name: &str, reason: UnavailableReason) -> Self {
        self.entries.push((
            format!("not-{}", self.entries.len()),
            provider_display(name, None),
            Some(reason),
        ));
        self
    }

    pub(crate) fn list(&self, last_used: Option<&str>, query: &ListQuery) -> ProviderList {
        let candidates: Vec<ProviderCandidate<'_>> = self
            .entries
            .iter()
            .map(|(id, shown, unavailable)| ProviderCandidate {
                id,
                name: LocalizedStr::new(&shown.name["fr"], None),
                shown,
                unavailable: *unavailable,
                block_message: self
                    .block_message
                    .filter(|_| *unavailable == Some(UnavailableReason::BlockedForServiceProvider))
                    .map(|message| LocalizedStr::new(message, None)),
                failed_recently: self.warned_id == Some(id),
            })
            .collect();
        build_provider_list(&candidates, self.headings, last_used, query)
    }

    fn choice_page(&self, last_used: Option<&str>, query: &ListQuery) -> ChoicePage {
        ChoicePage { list: self.list(last_used, query), ..choice_page(0) }
    }
}

pub(crate) fn search_query(query: &str) -> ListQuery {
    ListQuery { query: Some(query.to_owned()), ..ListQuery::default() }
}

pub(crate) fn choice_page(count: usize) -> ChoicePage {
    ChoicePage {
        interaction: HASH.into(),
        choose_csrf: "c".repeat(43),
        cancel_csrf: "d".repeat(43),
        forget_csrf: Some("f".repeat(43)),
        service: "Mairie de Saint-Étienne".into(),
        service_logo: None,
        level: Level::Eidas1,
        list: ProviderFixture::with_available(count).list(None, &ListQuery::default()),
        banner: None,
        email: None,
        no_account: Some(NoAccountAdvice {
            text: "Vous pouvez créer une identité numérique gratuitement, ou venir à la mairie."
                .into(),
            link: Some("https://hub.example/accounts".into()),
        }),
    }
}

/// Choice pages that know an e-mail address, or ask for one.
pub(super) fn email_choices() -> Vec<(&'static str, ChoicePage)> {
    let question = |is_malformed, last_used| {
        let list = ProviderFixture::with_available(3).list(last_used, &ListQuery::default());
        ChoicePage {
            email: Some(EmailSearch::Question { csrf: "e".repeat(43), is_malformed }),
            list: ProviderList {
                last_used: list.last_used,
                total: list.total,
                ..ProviderList::default()
            },
            ..choice_page(0)
        }
    };
    let with = |email, page| ChoicePage { email: Some(email), ..page };
    let domain = || "education.example.org".to_owned();
    vec![
        ("choice-email", question(false, None)),
        ("choice-email-malformed", question(true, None)),
        ("choice-email-last-used", question(false, Some("idp-1"))),
        (
            "choice-email-failed",
            ChoicePage { banner: choice_with_failures().banner, ..question(false, None) },
        ),
        ("choice-email-found", with(EmailSearch::Found { domain: domain() }, choice_page(2))),
        ("choice-email-unknown", with(EmailSearch::Unknown { domain: domain() }, choice_page(4))),
        ("choice-email-list", with(EmailSearch::List, choice_page(20))),
    ]
}

pub(super) fn choice_with_failures() -> ChoicePage {
    let providers = ProviderFixture {
        warned_id: Some("idp-2"),
        block_message: Some("Travaux jusqu’à lundi, 8 h."),
        ..ProviderFixture::with_available(3)
    }
    .with_unavailable("Banque du Rhône", UnavailableReason::LevelTooHigh)
    .with_unavailable("Ordre des notaires", UnavailableReason::ExcludedByServiceProvider)
    .with_unavailable("Académie de Lyon", UnavailableReason::Down)
    .with_unavailable("Ville de Nantes", UnavailableReason::ConnectorDisabled)
    .with_unavailable("Hôpitaux de Paris", UnavailableReason::ConnectorBlocked)
    .with_unavailable("Région Bretagne", UnavailableReason::BlockedForServiceProvider);
    ChoicePage {
        level: Level::Eidas2,
        banner: Some(FailureBanner {
            provider: "La Poste".into(),
            code: ErrorCode::IdpTimeout,
            message: None,
            support_id: "7K3Q9WZX2M4T".into(),
        }),
        ..providers.choice_page(None, &ListQuery::default())
    }
}

/// The choice page after the user stopped, or said that the displayed person is another one.
pub(super) fn choice_after(code: ErrorCode) -> ChoicePage {
    let banner = FailureBanner {
        provider: "La Poste".into(),
        code,
        message: None,
        support_id: "7K3Q9WZX2M4T".into(),
    };
    ChoicePage { banner: Some(banner), ..choice_page(3) }
}

/// Choice pages with many providers, in every state.
pub(super) fn many_provider_choices() -> Vec<(&'static str, ChoicePage)> {
    let whole = ListQuery::default();
    let category =
        |id: &str, page| ListQuery { category: Some(id.into()), page, ..ListQuery::default() };
    let of_300 = |query| ProviderFixture::with_available(300).choice_page(None, &query);
    let many = ProviderFixture::with_available(300).in_categories();
    let closed = (0..40).fold(ProviderFixture::with_available(2), |providers, n| {
        providers.with_unavailable(
            &format!("{} {n}", NAMES[n % NAMES.len()]),
            UnavailableReason::ExcludedByServiceProvider,
        )
    });
    let logo = Logo::new("image/png", b"a picture".to_vec());
    let mut with_logos = ProviderFixture::with_available(3);
    with_logos.entries[1].1.logo = Some(logo);
    vec![
        ("choice-last-used", ProviderFixture::with_available(3).choice_page(Some("idp-1"), &whole)),
        (
            "choice-last-used-alone",
            ProviderFixture::with_available(1).choice_page(Some("idp-0"), &whole),
        ),
        ("choice-last-used-300", many.choice_page(Some("idp-7"), &whole)),
        (
            "choice-categories",
            ProviderFixture::with_available(12).in_categories().choice_page(None, &whole),
        ),
        ("choice-categories-300", many.choice_page(None, &whole)),
        ("choice-category", many.choice_page(None, &category("bank", 1))),
        ("choice-category-last", many.choice_page(None, &category("bank", 3))),
        ("choice-300-last", of_300(ListQuery { page: 13, ..ListQuery::default() })),
        ("choice-300-letter", of_300(ListQuery { letter: Some('C'), ..ListQuery::default() })),
        ("choice-mostly-closed", closed.choice_page(None, &whole)),
        (
            "choice-logos",
            ChoicePage {
                service_logo: Some("/assets/logo".into()),
                ..with_logos.choice_page(None, &whole)
            },
        ),
        (
            "choice-search",
            ChoicePage {
                level: Level::Eidas3,
                ..ProviderFixture::with_available(20).choice_page(None, &search_query("  de LY "))
            },
        ),
        (
            "choice-search-300",
            many.choice_page(Some("idp-7"), &ListQuery { page: 2, ..search_query("a") }),
        ),
        (
            "choice-search-none",
            ProviderFixture::with_available(20).choice_page(None, &search_query("<i>zz")),
        ),
    ]
}
