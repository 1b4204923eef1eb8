//! The members of a dashboard that the tests read.

use super::*;

#[derive(Deserialize)]
pub(super) struct Dashboard {
    pub(super) title: String,
    pub(super) uid: String,
    pub(super) panels: Vec<Panel>,
    pub(super) templating: Templating,
    #[serde(default)]
    pub(super) links: Vec<Link>,
    #[serde(default)]
    pub(super) annotations: Annotations,
}

#[derive(Default, PartialEq, Debug, Deserialize)]
pub(super) struct Annotations {
    pub(super) list: Vec<Annotation>,
}

/// Events that every chart of a dashboard marks.
#[derive(PartialEq, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Annotation {
    pub(super) name: String,
    pub(super) expr: String,
    pub(super) title_format: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Link {
    pub(super) url: String,
    pub(super) keep_time: bool,
    pub(super) include_vars: bool,
}

#[derive(Deserialize)]
pub(super) struct Templating {
    pub(super) list: Vec<Variable>,
}

#[derive(Deserialize)]
pub(super) struct Variable {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// A data source's type, or a query in one of its forms. `definition` is the query as text.
    pub(super) query: serde_json::Value,
    pub(super) definition: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Panel {
    pub(super) id: u32,
    pub(super) title: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) description: String,
    pub(super) grid_pos: Place,
    #[serde(default)]
    pub(super) datasource: serde_json::Value,
    #[serde(default)]
    pub(super) targets: Vec<Target>,
    #[serde(default)]
    pub(super) field_config: serde_json::Value,
    /// Panels of a collapsed row.
    #[serde(default)]
    pub(super) panels: Vec<Panel>,
}

#[derive(Deserialize)]
pub(super) struct Place {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) w: u32,
    pub(super) h: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Target {
    pub(super) expr: String,
    #[serde(default)]
    pub(super) legend_format: String,
    #[serde(default)]
    pub(super) datasource: serde_json::Value,
}

impl Dashboard {
    /// Returns every panel, also those of collapsed rows, without the rows themselves.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Panel> {
        self.panels
            .iter()
            .flat_map(|panel| std::iter::once(panel).chain(&panel.panels))
            .filter(|panel| panel.kind != "row")
    }

    pub(super) fn variable_queries(&self) -> impl Iterator<Item = (&Variable, &str)> {
        let queries = self.templating.list.iter().filter(|variable| variable.kind == "query");
        queries.map(|variable| (variable, variable.definition.as_deref().unwrap_or_default()))
    }
}

impl Place {
    pub(super) const fn overlaps(&self, other: &Self) -> bool {
        self.x < other.x + other.w
            && other.x < self.x + self.w
            && self.y < other.y + other.h
            && other.y < self.y + self.h
    }
}
