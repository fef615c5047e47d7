//! Passwords of private servers.

use std::io;
use study::Secret;

/// The number of random bytes of a password: nobody guesses them while a run lasts.
const RANDOM_BYTES: usize = 20;

/// Returns a password that nobody has ever had, of letters and digits only, so that no configuration file needs to quote it.
///
/// # Errors
/// The system's error, when the system has no random bytes to give.
pub fn fresh() -> io::Result<Secret> {
    let mut bytes = [0_u8; RANDOM_BYTES];
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = &mut bytes[filled..];
        // SAFETY: the call writes at most `rest.len()` bytes to `rest`.
        let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(got) {
            Ok(got) => filled += got,
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(Secret::new(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::fresh;

    #[test]
    fn every_password_is_another_one_and_none_prints() {
        let (one, other) = (fresh().unwrap(), fresh().unwrap());
        assert!(one != other && one.reveal().len() == 40);
        assert!(one.reveal().bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(format!("{one:?}"), "***");
    }
}
