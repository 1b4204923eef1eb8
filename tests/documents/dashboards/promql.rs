//! Reads the names in PromQL. Prometheus checks whether an expression can be evaluated.

use std::collections::BTreeSet;

/// A metric in a query, and the text in the braces after it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Selector {
    pub metric: String,
    pub matchers: String,
}

/// The names in an expression.
#[derive(Default, Debug)]
pub(super) struct Names {
    pub selectors: Vec<Selector>,
    /// Labels that the series are grouped or matched by.
    pub grouped: BTreeSet<String>,
}

pub(super) fn names(expression: &str) -> Names {
    const WITH_LABELS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
    const OPERATORS: [&str; 5] = ["and", "or", "unless", "bool", "offset"];
    let mut names = Names::default();
    let mut rest = expression.trim_ascii_start();
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || "_:.$".contains(c);
        if first == '"' {
            rest = after_string(rest);
        } else if first == '[' {
            rest = rest.split_once(']').map_or("", |(_, after)| after);
        } else if word(first) {
            let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            rest = after.trim_ascii_start();
            let grouping = rest
                .split(|c| !word(c))
                .next()
                .is_some_and(|next| ["by", "without"].contains(&next));
            if WITH_LABELS.contains(&name) {
                let (labels, after) =
                    rest.trim_start_matches('(').split_once(')').unwrap_or_default();
                names.grouped.extend(labels.split(',').map(|label| label.trim_ascii().to_owned()));
                rest = after;
            } else if !(first.is_ascii_digit()
                || first == '$'
                || grouping
                || rest.starts_with('(')
                || OPERATORS.contains(&name))
            {
                let (matchers, after) = braces(rest);
                names
                    .selectors
                    .push(Selector { metric: name.to_owned(), matchers: matchers.to_owned() });
                rest = after;
            }
        } else {
            rest = &rest[first.len_utf8()..];
        }
        rest = rest.trim_ascii_start();
    }
    names
}

fn after_string(quoted: &str) -> &str {
    quoted[1..].split_once('"').map_or("", |(_, after)| after)
}

/// Splits `text` into the content of its leading braces and the rest. Route patterns have braces in
/// strings.
fn braces(text: &str) -> (&str, &str) {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '{' if at == 0 => {}
            _ if at == 0 => break,
            '"' => quoted = !quoted,
            '}' if !quoted => return (&text[1..at], &text[at + 1..]),
            _ => {}
        }
    }
    ("", text)
}

/// The labels in matchers, as `job=~"a,b", le="1"` has `job` and `le`.
pub(super) fn matched(mut matchers: &str) -> BTreeSet<String> {
    let mut labels = BTreeSet::new();
    while let Some((label, after)) = matchers.split_once(['=', '!']) {
        labels.insert(label.trim_start_matches(',').trim_ascii().to_owned());
        matchers = after.find('"').map_or("", |at| after_string(&after[at..]));
    }
    labels
}

/// The labels between double braces, as Grafana fills them in.
pub(super) fn in_legend(legend: &str) -> impl Iterator<Item = &str> {
    legend.split("{{").skip(1).map(|part| part.split("}}").next().unwrap_or_default().trim_ascii())
}

#[test]
fn names_are_found_in_expressions() {
    let found = names(
        r#"(sum by (a, le) (rate(x_total{e="/c/{id}", f!~"on|by"}[$__rate_interval])) or 0 * y) / on (b) (z > 1.5)"#,
    );
    let metrics: Vec<_> = found.selectors.iter().map(|selector| selector.metric.as_str()).collect();
    assert_eq!(metrics, ["x_total", "y", "z"]);
    assert_eq!(found.grouped, ["a", "b", "le"].map(str::to_owned).into());
    assert_eq!(matched(&found.selectors[0].matchers), ["e", "f"].map(str::to_owned).into());
}
