//! Parameters of a logout request that survive its confirmation.

use url::form_urlencoded::Serializer;

use passerelle_protocol::params::Params;

/// Parameters that the confirmation form and a saved request carry.
const FORWARDED_PARAMS: [&str; 5] =
    ["id_token_hint", "post_logout_redirect_uri", "state", "client_id", "ui_locales"];
/// Bytes of `ui_locales`; a longer value is ignored.
const MAX_UI_LOCALES_BYTES: usize = 256;

/// Returns the parameters that the confirmation form and a saved request carry.
pub(super) fn forwarded_params(params: &Params) -> Vec<(String, String)> {
    let fits =
        |name: &str, value: &str| name != "ui_locales" || value.len() <= MAX_UI_LOCALES_BYTES;
    let pair = |name: &str| {
        let value = params.get(name).filter(|value| fits(name, value))?;
        Some((name.to_owned(), value.to_owned()))
    };
    FORWARDED_PARAMS.into_iter().filter_map(pair).collect()
}

/// Encodes the parameters, as the form token binds them.
pub(super) fn encode_params(forwarded: &[(String, String)]) -> String {
    Serializer::new(String::new()).extend_pairs(forwarded).finish()
}

/// Returns the languages that the request asks for.
pub(super) fn ui_locales(params: &Params) -> Vec<String> {
    let value = params
        .single("ui_locales")
        .ok()
        .flatten()
        .filter(|value| value.len() <= MAX_UI_LOCALES_BYTES)
        .unwrap_or_default();
    value.split_ascii_whitespace().map(str::to_owned).collect()
}
