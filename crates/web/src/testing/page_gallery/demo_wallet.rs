//! Pages of the demo's wallet.

use crate::pages::*;

pub(super) fn demo_wallet_pages(chrome: &PageChrome<'_>) -> Vec<(&'static str, String)> {
    let demo = DemoWalletPage {
        verifier: "http://localhost:9500".into(),
        claims: vec!["given_name".into(), "<b>".into()],
        persons: vec![NamedValue { name: "angela".into(), value: "Angela DUBOIS".into() }],
        request: "\"><script>".into(),
    };
    let failed = DemoRequestError { reason: "The hub <b> refused the answer.".into() };
    vec![("wallet-demo", demo.render(chrome)), ("wallet-demo-error", failed.render(chrome))]
}
