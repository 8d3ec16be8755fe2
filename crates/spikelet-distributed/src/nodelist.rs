//! Slurm's compressed lists of host names: `node[01-03,7],other`.

/// The first host of a list; `None` if the list is empty or invalid.
///
/// Slurm runs rank 0 there. The other hosts are not needed, because their ranks connect to rank 0.
pub(super) fn first_host(list: &str) -> Option<String> {
    let mut host = String::new();
    let mut rest = list.trim();
    loop {
        let end = rest.find([',', '[']).unwrap_or(rest.len());
        host.push_str(&rest[..end]);
        if !rest[end..].starts_with('[') {
            return Some(host).filter(|host| !host.is_empty() && !host.contains(']'));
        }
        let (numbers, suffix) = rest[end + 1..].split_once(']')?;
        // Leading zeros are part of the name.
        let first = numbers.split([',', '-']).next()?;
        if first.is_empty() || !first.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        host.push_str(first);
        rest = suffix;
    }
}

#[cfg(test)]
mod tests {
    use super::first_host;

    #[test]
    fn the_first_host_of_a_list_is_expanded() {
        let lists = [
            ("node01", "node01"),
            ("node01,node02", "node01"),
            ("node[01-03,7],other", "node01"),
            ("other,node[01-03]", "other"),
            ("node[7]", "node7"),
            ("rack[2-3]-node[08,10]", "rack2-node08"),
            ("gpu-[1-4].cluster,x", "gpu-1.cluster"),
        ];
        for (list, host) in lists {
            assert_eq!(first_host(list).as_deref(), Some(host), "{list}");
        }
    }

    #[test]
    fn an_invalid_list_has_no_first_host() {
        for list in ["", ",node", "node[01-03", "node[]", "node[a-c]", "node]"] {
            assert_eq!(first_host(list), None, "{list}");
        }
    }
}
