//! The texts of specs without the passwords in them.

/// Returns the text of a spec with whatever may be a password in it replaced: also one that stands where it is not understood.
pub fn redact(text: &str) -> String {
    let (head, tail) = text.split_at(head_end(text));
    let head = match head.split_once("://") {
        Some((scheme, rest)) => {
            let (login, place) = rest.rfind('@').map_or((None, rest), |at| (Some(&rest[..at]), &rest[at + 1..]));
            let login = login.map(|login| match login.split_once(':') {
                Some((user, _)) => format!("{user}:{HIDDEN}@"),
                None => format!("{login}@"),
            });
            format!("{scheme}://{}{}", login.unwrap_or_default(), redact_place(place))
        }
        // A login without a scheme: `redis:user:password@host`.
        None => match (head.split_once(':'), head.rfind('@')) {
            (Some((name, rest)), Some(at)) if at > name.len() && !head[..at].contains('/') && !rest.is_empty() => {
                format!("{name}:{HIDDEN}{}", &head[at..])
            }
            _ => head.to_owned(),
        },
    };
    let is_server = head.contains("://");
    let items = tail.split(',').map(|item| match item.split_once('=') {
        Some((name, _)) if names_secret(name) => format!("{name}={HIDDEN}"),
        // A further address.
        None if is_server => redact_place(item),
        _ => item.to_owned(),
    });
    head + &items.collect::<Vec<_>>().join(",")
}

/// What stands for a password.
pub(crate) const HIDDEN: &str = "***";

/// Host, port and what follows; the values of parameters may be passwords, and so may what stands in the place of the port.
fn redact_place(place: &str) -> String {
    let (place, parameters) = place.split_once('?').map_or((place, None), |(place, rest)| (place, Some(rest)));
    let host_end = place.find('/').unwrap_or(place.len());
    let bracket = place[..host_end].rfind(']').unwrap_or(0);
    let mut text = match place[bracket..host_end].rfind(':') {
        Some(colon) if place[bracket + colon + 1..host_end].parse::<u32>().is_err() => {
            format!("{}:{HIDDEN}{}", &place[..bracket + colon], &place[host_end..])
        }
        _ => place.to_owned(),
    };
    if let Some(parameters) = parameters {
        let hidden = parameters.split('&').map(|parameter| match parameter.split_once('=') {
            Some((name, _)) => format!("{name}={HIDDEN}"),
            None => parameter.to_owned(),
        });
        text += &format!("?{}", hidden.collect::<Vec<_>>().join("&"));
    }
    text
}

/// Returns whether an option of this name is likely to hold a password.
pub fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["pass", "pwd", "secret", "token", "auth", "credential", "apikey", "api_key"].iter().any(|part| name.contains(part))
}

/// Returns where the first address ends: at the first comma behind the password, which may hold commas; host and path may not.
pub(crate) fn head_end(text: &str) -> usize {
    match text.find("://").and(text.rfind('@')) {
        Some(at) => text[at..].find(',').map_or(text.len(), |comma| at + comma),
        None => text.find(',').unwrap_or(text.len()),
    }
}
