//! What studies of earlier builds did not write down. The only place that reads anything out of names of stores and facts.

use crate::{BudgetLayer, Cell, Class, Spec, Transport};

/// Returns the layer a baseline shows, and how the server of a cell is reached on this machine.
pub fn layer_and_transport(cell: &Cell) -> (Option<BudgetLayer>, Option<Transport>) {
    let Ok(spec) = cell.store.parse::<Spec>() else { return (None, None) };
    let layer = match spec.name.as_str() {
        "null" => BudgetLayer::Generator,
        "ram" => BudgetLayer::Client,
        _ => BudgetLayer::Wire,
    };
    let has_server = if cell.baseline { layer == BudgetLayer::Wire } else { cell.class == Class::Network };
    let private = if spec.name.ends_with("-unix") { Transport::Unix } else { Transport::Tcp };
    (cell.baseline.then_some(layer), has_server.then(|| spec.transport(Some(private))).flatten())
}

/// Returns the records a job left in the store: what they were called in the answers of the jobs there were then.
pub fn records(cell: &Cell) -> Option<u64> {
    let fact = |name: &str| cell.answer.facts.get(name)?.as_u64();
    ["records", "keys", "pages", "documents", "rows"].into_iter().find_map(fact)
}

#[cfg(test)]
mod tests {
    use crate::{BudgetLayer, Cell, Class, Transport};

    #[test]
    fn cells_of_earlier_builds_are_placed_by_the_names_there_were_then() {
        let cell = |store: &str, class: Class| {
            let baseline = class == Class::Baseline;
            let cell = Cell { store: store.into(), class, baseline, ..Cell::default() };
            (cell.layer(), cell.transport())
        };
        assert_eq!(cell("null", Class::Baseline), (Some(BudgetLayer::Generator), None));
        assert_eq!(cell("ram", Class::Baseline), (Some(BudgetLayer::Client), None));
        assert_eq!(cell("echo", Class::Baseline), (Some(BudgetLayer::Wire), Some(Transport::Tcp)));
        assert_eq!(cell("echo-unix", Class::Baseline), (Some(BudgetLayer::Wire), Some(Transport::Unix)));
        assert_eq!(cell("redis,durability=os", Class::Network), (None, Some(Transport::Tcp)));
        assert_eq!(cell("redis-unix,durability=os", Class::Network), (None, Some(Transport::Unix)));
        assert_eq!(cell("redis://10.0.0.5:6379", Class::Network), (None, None));
        assert_eq!(cell("lmdb", Class::Embedded), (None, None));
    }

    #[test]
    fn records_of_earlier_builds_are_what_their_answers_call_so_and_what_a_cell_says_itself_counts() {
        let mut cell = Cell::default();
        assert_eq!(cell.records(), None);
        cell.answer.facts.insert("pages".into(), 13_194.into());
        assert_eq!(cell.records(), Some(13_194));
        cell.records = Some(7);
        assert_eq!(cell.records(), Some(7));
    }

    #[test]
    fn what_a_cell_says_itself_counts_whatever_its_name_is() {
        let cell = Cell {
            store: "least-unix".into(),
            class: Class::Baseline,
            baseline: true,
            layer: Some(BudgetLayer::Client),
            transport: Some(Transport::Tcp),
            ..Cell::default()
        };
        assert_eq!((cell.layer(), cell.transport()), (Some(BudgetLayer::Client), Some(Transport::Tcp)));
    }
}
