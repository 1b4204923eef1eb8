//! Claims path pointers (OpenID4VP 1.0 §7): which claims of a credential a request selects.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One component of a claims path pointer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PathComponent {
    /// Selects a member of an object.
    Key(String),
    /// Selects an element of an array.
    Index(usize),
    /// Selects all elements of an array (`null`).
    AllElements,
}

/// A path into a credential.
///
/// Elements that the holder doesn't disclose are absent from an array, so that a number is no
/// longer the place of an element: a number selects all disclosed elements, as `null` does.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClaimsPathPointer(pub Vec<PathComponent>);

impl ClaimsPathPointer {
    /// Returns the path of nested members, such as namespace and data element.
    pub fn from_keys<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        Self(keys.into_iter().map(|key| PathComponent::Key(key.to_owned())).collect())
    }

    /// Returns true if the pointer selects something in the claims.
    pub fn is_in(&self, claims: &Map<String, Value>) -> bool {
        !select_claims(claims, std::slice::from_ref(self)).is_empty()
    }

    /// Returns true if the claim at `path` is selected, belongs to a selected claim, or contains
    /// one.
    pub fn covers(&self, path: &[PathComponent]) -> bool {
        self.0.iter().zip(path).all(|(left, right)| match (left, right) {
            (PathComponent::Key(left), PathComponent::Key(right)) => left == right,
            (PathComponent::Key(_), _) | (_, PathComponent::Key(_)) => false,
            _ => true,
        })
    }
}

/// Returns the selected claims with their ancestors, and nothing else.
pub fn select_claims(
    claims: &Map<String, Value>,
    pointers: &[ClaimsPathPointer],
) -> Map<String, Value> {
    let paths: Vec<&[PathComponent]> = pointers.iter().map(|pointer| &pointer.0[..]).collect();
    select_members(claims, &paths)
}

fn select_members(members: &Map<String, Value>, paths: &[&[PathComponent]]) -> Map<String, Value> {
    let select = |(name, value): (&String, &Value)| {
        let below = rest_of_paths(
            paths,
            |component| matches!(component, PathComponent::Key(key) if key == name),
        );
        Some((name.clone(), select_value(value, &below)?))
    };
    members.iter().filter_map(select).collect()
}

fn select_value(value: &Value, paths: &[&[PathComponent]]) -> Option<Value> {
    if paths.iter().any(|path| path.is_empty()) {
        return Some(value.clone());
    }
    match value {
        Value::Object(members) => {
            let selected = select_members(members, paths);
            (!selected.is_empty()).then_some(Value::Object(selected))
        }
        Value::Array(elements) => {
            let below =
                rest_of_paths(paths, |component| !matches!(component, PathComponent::Key(_)));
            let selected: Vec<_> =
                elements.iter().filter_map(|element| select_value(element, &below)).collect();
            (!selected.is_empty()).then_some(Value::Array(selected))
        }
        _ => None,
    }
}

/// Returns what follows the first component of the paths that begin with a matching one.
fn rest_of_paths<'a>(
    paths: &[&'a [PathComponent]],
    matches: impl Fn(&PathComponent) -> bool,
) -> Vec<&'a [PathComponent]> {
    let split = paths.iter().filter_map(|path| path.split_first());
    split.filter(|(first, _)| matches(first)).map(|(_, rest)| rest).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn select(pointers: Value) -> Value {
        let claims = json!({
            "name": "Erika", "address": { "locality": "Köln", "street": "1" },
            "degrees": [{ "type": "B", "year": 1 }, { "type": "M", "year": 2 }],
            "nationalities": ["DE", "FR"],
        });
        let pointers: Vec<ClaimsPathPointer> = serde_json::from_value(pointers).unwrap();
        Value::Object(select_claims(claims.as_object().unwrap(), &pointers))
    }

    #[test]
    fn pointers_select_what_the_standard_says() {
        let address = json!({ "locality": "Köln", "street": "1" });
        for (pointers, selected) in [
            (json!([["name"]]), json!({ "name": "Erika" })),
            (json!([["address"]]), json!({ "address": address })),
            (json!([["address", "street"]]), json!({ "address": { "street": "1" } })),
            (
                json!([["address", "locality"], ["address", "street"]]),
                json!({ "address": address }),
            ),
            (
                json!([["degrees", null, "type"]]),
                json!({ "degrees": [{ "type": "B" }, { "type": "M" }] }),
            ),
            (json!([["nationalities", 0]]), json!({ "nationalities": ["DE", "FR"] })),
            (json!([["absent"], ["name", "x"], ["nationalities", "x"], ["address", 0]]), json!({})),
            (json!([]), json!({})),
        ] {
            assert_eq!(select(pointers.clone()), selected, "{pointers}");
        }
    }

    #[test]
    fn a_pointer_covers_its_ancestors_and_descendants() {
        let pointer: ClaimsPathPointer = serde_json::from_value(json!(["a", null, "b"])).unwrap();
        let covers = |path: Value| pointer.covers(&serde_json::from_value::<Vec<_>>(path).unwrap());
        assert!(
            covers(json!(["a"])) && covers(json!(["a", 3])) && covers(json!(["a", 0, "b", "c"]))
        );
        assert!(
            !covers(json!(["b"])) && !covers(json!(["a", "b"])) && !covers(json!(["a", 0, "c"]))
        );
    }
}
